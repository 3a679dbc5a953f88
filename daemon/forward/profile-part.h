/* Choose the part of a memory profile that is sent with a capture. */
#ifndef FORWARD_MEMORY_H
#define FORWARD_MEMORY_H

#include "head.h"
#include "piece.h"

#define MEMORY_MOST (256u << 20) /* bytes of the largest part that is sent */

/* Wait until the time UNTIL (CLOCK_MONOTONIC ns). */
typedef void memory_wait(void *context, uint64_t until);

/*
 * Set *MEMORY to the part for CAPTURE, whose head is HEAD: of the profile of its run that was being recorded when
 * the capture was taken, or ended at most 5 s before, all bytes that are archived now. OWN is the
 * directory of own-state.h: at each later attempt the part is the same. A guest that ended ends its profile,
 * too: wait for that with WAIT, up to 5 s behind the capture. No profile, one that is larger than MEMORY_MOST,
 * and an archive of profiles that cannot be read, give no part.
 */
void memory_choose(struct memtraces_reader *m, const char *own, int64_t capture, const struct head *head,
		   memory_wait *wait, void *context, struct memory_part *memory);

/*
 * Return what a head says of the profile that MEMORY is a part of: the same at each attempt. The recording is 0 if there is
 * none, or if it cannot be read; then its pieces cannot be read, either.
 */
struct head_profile memory_profile(struct memtraces_reader *m, const struct memory_part *memory);

/* Return whether the capture with HEAD has a profile, or may have one: then it cannot be sent together with others. */
bool memory_has(struct memtraces_reader *m, const struct head *head);

#endif
