/* The host's registry: tokens in a file, sessions in memory. */
#ifndef SERVE_HOST_REGISTRY_H
#define SERVE_HOST_REGISTRY_H

#include "cleanup.h"
#include "registry.h"
#include "tokens.h"

struct host_registry;

/* Create the registry of the tokens in the file PATH (tokens.h). Return 0, with it in *RP, or -ENOMEM. */
int host_registry_new(struct host_registry **rp, const char *path);
struct host_registry *host_registry_free(struct host_registry *r);
CLEANUP_DEFINE(struct host_registry, host_registry_free)

/* Return the calls of R; it owns their context. */
struct registry host_registry(struct host_registry *r);
/* Return the tokens of R; it owns them. */
struct tokens *host_registry_tokens(struct host_registry *r);

#endif
