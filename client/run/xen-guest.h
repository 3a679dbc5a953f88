/*
 * The keeper in a Linux guest of Xen: it grants the rings of its processes to domain 0 and publishes
 * them in XenStore (mprof/publisher-xen.h).
 */
#ifndef RUN_GUEST_H
#define RUN_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guest;	      /* the connection */
struct guest_process; /* the rings of a process */

/*
 * Check that rings of RING_BYTES bytes can be published from here. Write a sentence about the first
 * thing that is missing to TEXT (SIZE bytes), and return false.
 */
bool guest_check(uint64_t ring_bytes, char *text, size_t size);
/* Return the size of a ring of at least BYTES bytes: whole pages. */
uint64_t guest_ring_bytes(uint64_t bytes);

/* Connect to Xen. Return NULL if that fails. The caller ends with the process: nothing closes it. */
struct guest *guest_open(uint64_t ring_bytes);

/*
 * Begin the rings of a process, which are called `NAME RING`: reserve streams and grants for it.
 * KEEPER_BYTES is the size of each of its two rings that the keeper writes. Write how many rings its
 * threads may have to *OWN and *SHARED. Return NULL if there is too little room. The caller frees the
 * result by guest_process_end().
 */
struct guest_process *guest_process_new(struct guest *g, const char *name, uint64_t keeper_bytes, uint32_t *own,
					uint32_t *shared);
/*
 * Make a ring of BYTES bytes called RING, whose memory the keeper writes. Return 0, with the memory in
 * *MEMORY, which stays mapped until guest_process_end() returns true, or -errno.
 */
int guest_ring_write(struct guest_process *p, const char *ring, uint64_t bytes, void **memory);
/* Make a ring of the guest's size called RING. Return a descriptor of its memory, the caller's, or -errno. */
int guest_ring_give(struct guest_process *p, const char *ring);
/* Free the ring that was made last, which nobody has mapped. */
void guest_ring_drop(struct guest_process *p);
/*
 * Publish the rings that are initialised, and tell domain 0 of finished packets. TIME is now,
 * CLOCK_MONOTONIC ns.
 */
void guest_process_step(struct guest_process *p, uint64_t time);
/*
 * Withdraw the rings, for which nobody writes any more. Return true when they are freed, and P with
 * them; false if the collector may still read them: call again.
 */
bool guest_process_end(struct guest_process *p, uint64_t time);

#endif
