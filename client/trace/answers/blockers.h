/* Who stands on which row when, as far as it matters to those who look for a place on their parent's own row: by the highest id. */
#ifndef TRACE_BLOCKERS_H
#define TRACE_BLOCKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "row-group.h"

struct blockers {
	struct spans spans;
	struct grow rows; /* struct blocker_row */
	struct grow few;  /* struct blocker */
};

void blockers_init(struct blockers *b);
void blockers_deinit(struct blockers *b);
uint64_t blockers_memory(const struct blockers *b);

/* The thread ID stands on ROW for LIFE; false without memory. */
bool blockers_add(struct blockers *b, uint32_t row, const struct life *life, int64_t id);
/* Is a thread with a higher id than ID on ROW in the way of LIFE? */
bool blockers_above(struct blockers *b, uint32_t row, const struct life *life, int64_t id);

#endif
