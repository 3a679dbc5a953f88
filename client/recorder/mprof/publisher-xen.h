/*
 * Rings of a Linux guest that Xen's domain 0 can read, by /dev/xen/gntalloc, /dev/xen/evtchn and
 * XenStore, as schema/xenstore.md says. A program links libmprof-recorder-xen, libxenstore and
 * libxenevtchn, and may open these devices (by default root alone may).
 *
 * There are two ways to use it: the publisher for a tracer (mprof/tracer.h), and single rings.
 *
 * The kernel limits the grants of all processes together: 1,024 by default, which is not enough for a
 * ring of 4 MiB. The parameter `limit` of its module xen_gntalloc raises that.
 *
 * The kernel has pages of 4,096 bytes. Some kernels for arm64 have larger ones, and grant only a part of
 * each: then no ring can be made.
 *
 * Rings do not survive a migration or a restore of the guest: the kernel does not grant the pages
 * again. Rings that are made after it are read.
 */
#ifndef MPROF_PUBLISHER_XEN_H
#define MPROF_PUBLISHER_XEN_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mprof/publisher.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_XEN_STREAMS_MAX 64u   /* streams of a guest that the collector takes */
#define MPROF_XEN_UNMAP_MS    1500u /* within this time the collector has unmapped a withdrawn ring */
#define MPROF_XEN_FOUND_MS    1000u /* within this time the collector has found a published ring */

struct xs_handle;
struct xenevtchn_handle;

/* ---- single rings ------------------------------------------------------------------------------ */

/* A connection to Xen. One thread at a time uses it, and no child of fork(). */
struct mprof_xen {
	struct xs_handle *store;
	struct xenevtchn_handle *events;
	char owner[64]; /* of the streams, in XenStore */
};

/* A ring. The caller owns it, zeroed before its first use. */
struct mprof_xen_ring {
	int device;	    /* descriptor of the ring's pages, whose mapping is at offset 0 */
	size_t bytes;	    /* of the ring, as it was asked for; 0 = there is no ring */
	uint32_t pages;	    /* of the ring */
	uint32_t *refs;	    /* their grant references */
	uint32_t directory; /* reference of the first directory page; 0 = REFS fit into a value */
	int port;	    /* of the event channel; 0 = none */
	uint32_t stream;    /* its number in XenStore; 0 = not published */
};

/*
 * Connect to XenStore and open the event channels. Remove the streams of processes of this guest that
 * were killed. Return 0; -ENODEV if this is no guest of Xen, or its module xen_gntalloc is not loaded;
 * -EOPNOTSUPP if it is domain 0; -ENOSYS if the kernel's pages are not of 4,096 bytes; -EACCES if the
 * devices may not be opened; or -errno. On an error *X needs no close.
 */
int mprof_xen_open(struct mprof_xen *x);
/* Close what open() opened, which closes all event channels. Free the rings first. */
void mprof_xen_close(struct mprof_xen *x);

/* Return the number of grants that a ring of BYTES bytes needs, directory pages included. */
uint32_t mprof_xen_grants(size_t bytes);
/* Return the number of grants that the kernel allows all processes, or 0 if it does not say. */
uint32_t mprof_xen_grants_limit(void);
/*
 * Return the number of streams that the guest publishes, by all its processes, or -errno.
 */
int mprof_xen_streams(const struct mprof_xen *x);

/*
 * Make a ring of BYTES bytes, a multiple of 4,096 and at most 256 MiB, zeroed: allocate its pages, grant
 * domain 0 to read them, fill the directory if there must be one, and offer an event channel. It makes
 * system calls alone, no malloc and no lock, so that a signal handler may call it. Return 0; -ENOSPC if
 * the kernel's limit or Xen's is reached; -ENODEV if /dev/xen/gntalloc is missing; or -errno. On an error
 * there is no ring.
 *
 * Map R->device with MAP_SHARED to use the memory; the pages stay as long as it is open or mapped.
 */
int mprof_xen_ring_make(struct mprof_xen *x, struct mprof_xen_ring *r, size_t bytes);
/*
 * The ring is initialised: write its keys. NAME is its name for people, of 1 to 64 bytes. Return 0;
 * -ENOSPC if the guest has MPROF_XEN_STREAMS_MAX streams; or -errno.
 */
int mprof_xen_ring_publish(struct mprof_xen *x, struct mprof_xen_ring *r, const char *name);
/* Tell domain 0 that the ring has finished a packet: one system call. Does nothing without a port. */
void mprof_xen_ring_kick(struct mprof_xen *x, const struct mprof_xen_ring *r);
/*
 * Remove the keys of the N rings R[], all at once; those that are not published are left alone. The
 * collector takes their last bytes as a capture of kind `ended` and unmaps them. Return 0; or -errno, and
 * then no key is removed.
 */
int mprof_xen_rings_withdraw(struct mprof_xen *x, struct mprof_xen_ring *const *r, size_t n);
/*
 * Free the ring, MPROF_XEN_UNMAP_MS after its keys were removed: end its grants and its event channel.
 * Mappings stay. Does nothing if there is no ring.
 */
void mprof_xen_ring_free(struct mprof_xen *x, struct mprof_xen_ring *r);

/* ---- the publisher for a tracer ------------------------------------------------------------------ */

/*
 * A publisher of rings of this process. A thread of its own writes to XenStore, because libxenstore
 * needs malloc and locks: say() only tells that thread. The caller owns the struct, which keeps its
 * address until mprof_publisher_xen_close().
 */
struct mprof_publisher_xen {
	struct mprof_xen xen;
	char name[40]; /* for people */
	pid_t pid;
	pthread_t thread;
	sem_t work; /* posted for each change of a state */
	int ends;   /* atomic */
	struct {
		struct mprof_xen_ring ring;
		void *memory;
		uint32_t state;	 /* atomic */
		int64_t said_ns; /* when the keys were written, or refused; 0 = not yet */
	} slot[MPROF_PUBLISHER_RINGS_MAX];
};

/*
 * Open *X as mprof_xen_open() does, start its thread, and fill *P with functions that use X. Rings are
 * called `NAME.PID RING`; NAME has 1 to 39 bytes. Return 0 or -errno.
 *
 * A child of fork() is not recorded: it opens a publisher of its own, in a struct of its own, after
 * mprof_tracer_stop(), if it wants to be.
 *
 * mprof_publisher_xen_close() withdraws all rings, waits until the collector has let go of them, and
 * frees them. A ring stays for MPROF_XEN_FOUND_MS after it was published, so that the collector finds it.
 * Call it after mprof_tracer_stop(). If XenStore refuses for some seconds to remove the keys, the rings stay
 * until the process ends, and the next process that opens Xen removes the keys. In a child of fork() it does
 * nothing.
 */
int mprof_publisher_xen_open(struct mprof_publisher_xen *x, struct mprof_publisher *p, const char *name);
void mprof_publisher_xen_close(struct mprof_publisher_xen *x);

#ifdef __cplusplus
}
#endif

#endif
