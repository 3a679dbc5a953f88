/*
 * Record the trace of a Unikraft unikernel: its threads, their switches, waits and wake-ups.
 *
 *	int main(void)
 *	{
 *		mprof_uk_start();
 *		...
 *	}
 *
 * On Xen the ring is published to domain 0 (schema/xenstore.md). On other platforms mprof_uk_ring()
 * tells where the ring is; the embedder publishes it.
 *
 * All calls are made from threads, and do nothing while no ring is recorded. The library is for one
 * processor.
 */
#ifndef __UK_MPROF_H__
#define __UK_MPROF_H__

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Allocate a ring and record into it. On Xen, publish it; that waits for XenStore. Call it once.
 * Return 0 or a negative error number. If only publishing fails, the ring is recorded, and the
 * return value says why it is not published.
 */
int mprof_uk_start(void);

/*
 * Withdraw the ring, stop recording, and free the ring when domain 0 has unmapped it. A unikernel
 * that crashes leaves its ring in place.
 */
void mprof_uk_stop(void);

/* Return the ring and store its size in *BYTES. Return NULL if no ring is recorded. */
const void *mprof_uk_ring(size_t *bytes);

/* Return the number of events that the recorder dropped, all reasons together. */
uint64_t mprof_uk_dropped(void);

/* Mark the running thread: it should end, and `mprofctl why` explains why it did not. */
void mprof_uk_should_resolve(void);

/* Label the running thread with TEXT, or set the counter NAME to VALUE. Both texts are copied. */
void mprof_uk_label(const char *text);
void mprof_uk_counter(const char *name, int64_t value);

#ifdef __cplusplus
}
#endif

#endif
