/*
 * The fleet's registry: tokens, sessions and revocations in the hub's database (schema/fleet), and a
 * small memory of the answers.
 *
 * An answer is believed for REGISTRY_BELIEF_NS from the moment on when it was asked for. Those about
 * credentials that are in use are asked for again each second. So what the database has revoked is
 * refused by each hub after that time at the latest, also if the hub has lost the database; and who was
 * known goes on for that time without the database.
 */
#ifndef SERVE_FLEET_REGISTRY_H
#define SERVE_FLEET_REGISTRY_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"
#include "registry.h"

#define REGISTRY_BELIEF_NS (5 * NS_PER_S)

struct fleet_registry;

/* Return whether CONNECTION parses; else put a sentence into SENTENCE (SIZE bytes). */
bool fleet_connection_ok(const char *connection, char *sentence, size_t size);
/*
 * Create the registry in the database of CONNECTION, libpq's connection string. EVENT is borrowed.
 * Nothing is connected before the first question. Return 0, with the registry in *RP, or -errno.
 */
int fleet_registry_new(struct fleet_registry **rp, sd_event *event, const char *connection);
struct fleet_registry *fleet_registry_free(struct fleet_registry *r);
CLEANUP_DEFINE(struct fleet_registry, fleet_registry_free)

/* Return the calls of R; it owns their context. */
struct registry fleet_registry(struct fleet_registry *r);
/* Let R call CALL with CONTEXT when it knows more: who got REGISTRY_LATER asks again. */
void fleet_registry_watch(struct fleet_registry *r, void (*call)(void *context), void *context);

#endif
