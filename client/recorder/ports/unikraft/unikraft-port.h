/* The state of the library, shared by its files. */
#ifndef UNIKRAFT_PORT_H
#define UNIKRAFT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/recorder.h>

#define PORT_PAGE      4096u
#define PORT_PAGES_MAX 1023u /* pages of a ring: one directory page names them */
#define PORT_THREADS   128u

#include "../threads.h"

struct port {
	struct mprof_recorder recorder;
	bool on;
	struct port_table table;
	int64_t scheduler; /* resolves waits that ended by time, or unseen */
	int64_t interrupt; /* wakes threads from interrupt handlers */
	uint8_t *ring;
	uint32_t pages;

	/* The published ring (share-xen.c). */
	const char *key; /* the commit key that is written; NULL = none */
	uint32_t *directory;
	uint32_t directory_ref;
	uint32_t refs[PORT_PAGES_MAX];
	bool granted;
};

/* Publish the ring. Return 0 or a negative error number. */
int port_publish(struct port *p);

/* Remove the commit key. Recording may go on until this returns. */
void port_unpublish(struct port *p);

/* Wait until nobody maps the ring. Return whether it may be freed. */
bool port_unmapped(struct port *p);

#endif
