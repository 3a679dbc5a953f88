/*
 * Wall times: nanoseconds since 1970 as text in a zone, and text as such a time. libc knows the
 * zones (TZ, /etc/localtime).
 */
#ifndef CTL_WALL_TIME_H
#define CTL_WALL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WALL_TEXT_MAX 64u /* bytes that hold any text of this file, its NUL included */

/* UTC, or the viewer's zone. Zero the structure and set UTC; the other fields are a cache. */
struct wall_zone {
	bool utc;
	bool cached;
	int64_t second; /* second since 1970 to which the fields below belong, if CACHED */
	struct tm tm;
	int day;
	char date_time[20]; /* "2026-11-23T03:12:44", and no NUL */
	char offset[12];    /* offset from UTC, OFFSET_BYTES bytes */
	uint8_t offset_bytes;
};

/*
 * Write the time NS to TEXT, which has WALL_TEXT_MAX bytes: `03:12:44.123456789+01:00`, and with
 * DATED `2026-11-23T03:12:44.123456789+01:00`. UTC has the offset `Z`. Return the length.
 */
size_t wall_text(struct wall_zone *z, int64_t ns, bool dated, char *text);
/* Return a number that two times share if they are of the same day. */
int wall_day(struct wall_zone *z, int64_t ns);

/* A time that a person wrote: a moment, or a time of day. */
struct wall_moment {
	bool of_day;
	bool zoned;	/* the text names an offset from UTC, which is OFFSET_S */
	int offset_s;	/* seconds east of UTC */
	int64_t ns;	/* the moment, unless OF_DAY */
	int64_t day_ns; /* if OF_DAY: time since the midnight of a clock on the wall, ns */
};

enum wall_status {
	WALL_OK,
	WALL_OTHER,   /* the text has another form */
	WALL_SKIPPED, /* the zone has no such time: its clocks go forward over it, or the date does not exist */
};

/*
 * Parse TEXT: [DATE(T| )]HOURS:MINUTES[:SECONDS[.FRACTION]][Z|±HH:MM], DATE as 2026-11-23. If the
 * zone has the time twice, take the later one if LATER is set.
 */
enum wall_status wall_parse(struct wall_moment *m, const char *text, struct wall_zone *z, bool later);

/*
 * Find the latest time at M's time of day that is not after END; or the first one that is not before
 * FROM. Return false if there is none within three days.
 */
bool wall_latest(const struct wall_moment *m, struct wall_zone *z, int64_t end, int64_t *ns);
bool wall_next(const struct wall_moment *m, struct wall_zone *z, int64_t from, int64_t *ns);

/*
 * Return the real-time clock in ns since 1970.
 */
int64_t wall_now(void);

#endif
