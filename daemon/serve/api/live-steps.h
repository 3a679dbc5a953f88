/*
 * The latest steps of live bodies. Followers of one stream stand at the same place, so one of them
 * reads the archive, and the others take its step. A step holds until the next commit.
 */
#ifndef SERVE_LIVE_STEPS_H
#define SERVE_LIVE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_STEPS	16u
#define LIVE_STEP_BYTES 65536u /* of a step, at most; longer ones are not kept */

/* The place of a live body, and all else that its next step depends on. */
struct live_cursor {
	int64_t stream;
	uint64_t sequence;
	uint32_t offset;
	uint64_t deletions;
	bool sent_any, abandoned, zstd;
};

struct live_step {
	bool is_kept;
	struct live_cursor from, to;
	uint8_t *bytes; /* what is sent; owned */
	size_t n;	/* 0 = the archive has nothing more */
};

/* Zeroed there are none. */
struct live_steps {
	struct live_step list[LIVE_STEPS];
	unsigned next; /* the one that is replaced next */
};

/* Find the step from FROM, or NULL. Valid until the next call. */
const struct live_step *live_steps_find(const struct live_steps *l, const struct live_cursor *from);
/* Keep the step from FROM to TO, which sends the N bytes at BYTES, unless that is too long. */
void live_steps_add(struct live_steps *l, const struct live_cursor *from, const struct live_cursor *to,
		    const void *bytes, size_t n);
/* Forget all steps: something may have been committed. */
void live_steps_forget(struct live_steps *l);
void live_steps_deinit(struct live_steps *l);

#endif
