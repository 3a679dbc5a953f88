/*
 * What a format wants to remember of tracks that it was told about: what is on their door.
 *
 * Bounded without any order: a new track takes the place of the one told PLATES tracks before.
 */
#ifndef CTL_PLATES_H
#define CTL_PLATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLATES	    (1u << 18)
#define PLATE_BYTES 43u

struct plate {
	uint64_t ended; /* when its life was over, where OVER */
	uint32_t track; /* 0 = free */
	bool over;
	uint8_t name_bytes;
	char name[PLATE_BYTES]; /* valid UTF-8, cut to what fits */
};

struct plates {
	struct plate *list;
};

/* False without memory. */
bool plates_init(struct plates *p);
void plates_deinit(struct plates *p);

/* TRACK (from 1) is called NAME, LEN bytes of valid UTF-8. */
void plates_name(struct plates *p, uint32_t track, const char *name, size_t len);
/* What is remembered of TRACK, or NULL. */
struct plate *plates_find(const struct plates *p, uint32_t track);

#endif
