/* The keys of one stream of a guest, below data/mprof: all read at one moment, and checked. */
#ifndef XEN_KEYS_H
#define XEN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct xen;

/* A key as it was read. */
struct key_text {
	char *value; /* LEN bytes, owned; NULL = the key is absent, or was not read */
	size_t len;
};

enum { KEYS_RING, KEYS_DIRECTORY, KEYS_PORT, KEYS_LABEL, KEYS_TEXTS };

struct keys {
	bool published; /* ring-ref or directory-ref exists */
	uint32_t *refs; /* grant references of ring-ref; owned; NULL if there is a directory instead */
	size_t n_refs;
	uint32_t directory; /* grant reference of directory-ref; 0 = none */
	uint32_t port;	    /* event-channel; 0 = none */
	bool bad_port;	    /* event-channel exists but is no valid port */
	char *label;	    /* name of the stream, printable; owned; NULL = none */
	struct key_text texts[KEYS_TEXTS];
};

/*
 * Read the keys of stream NUMBER of DOMID in one transaction. The caller frees *KEYS with
 * keys_deinit(), also after a fault. Return FAULT_NONE, or why the keys are refused. FAULT_STORE:
 * XenStore did not answer, or the keys changed during each attempt; ask again later.
 */
enum fault keys_read(struct keys *keys, struct xen *xen, uint32_t domid, uint32_t number);
void keys_deinit(struct keys *keys);

struct subtree;

/* Note the keys of stream NUMBER in what was seen of the domain's subtree. Return 0 or -ENOMEM. */
int keys_note(const struct keys *keys, uint32_t number, struct subtree *subtree);

/* Write the path of the XenStore directory of stream NUMBER's keys to PATH (SIZE bytes). */
void keys_path(char *path, size_t size, uint32_t domid, uint32_t number);

#endif
