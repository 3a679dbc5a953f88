/* The keys of one stream below a guest's data/mprof, read at one moment and checked. */
#ifndef XEN_KEYS_H
#define XEN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct xen;

struct keys {
	bool published; /* a commit key is there */
	uint32_t *refs; /* of ring-ref; owned; NULL if a directory lists the pages */
	size_t n_refs;
	uint32_t directory; /* of directory-ref; 0 = none */
	uint32_t port;	    /* 0 = none */
	bool bad_port;	    /* event-channel is there and is no port */
	char *label;	    /* printable; owned; NULL = none */
};

/*
 * Read the keys of stream NUMBER of DOMID in one transaction. *KEYS needs keys_deinit in any case.
 * Return FAULT_NONE, or why they are refused. FAULT_STORE: XenStore gave no steady answer; ask
 * again.
 */
enum fault keys_read(struct keys *keys, struct xen *xen, uint32_t domid, uint32_t number);
void keys_deinit(struct keys *keys);

/* Write the directory of these keys to PATH of SIZE bytes. */
void keys_path(char *path, size_t size, uint32_t domid, uint32_t number);

#endif
