/*
 * Bounds from stamps.
 *
 * A position in a ring is confirmed by the look after it was seen, and proven by the one after that.  So what is copied at one look was not
 * there four looks before.  Stamps are of copies, not of looks.  Surely of different looks are those that are two seconds apart, since none
 * takes so long, and those of two pieces of one packet that is not longer than what a look copies at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clocks.h"
#include "scope.h"

#define APART_NS    2000000000u
#define PIECE_BYTES (1u << 20)
#define PAGE	    1000

static bool take_number(const json_t *value, uint64_t *number)
{
	const char *text = json_string_value(value);
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	*number = strtoull(text, &end, 10);
	return !*end;
}

/* RFC 3339 with nine digits of a second, as the API has it. */
static bool take_time(const json_t *value, uint64_t *ns)
{
	const char *text = json_string_value(value), *rest;
	struct tm tm = {0};
	uint64_t fraction = 0, unit = 100000000;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest)
		return false;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			fraction += (uint64_t)(*rest - '0') * unit;
	*ns = (uint64_t)timegm(&tm) * 1000000000u + fraction;
	return strcmp(rest, "Z") == 0 && timegm(&tm) >= 0;
}

static bool take_stamp(const json_t *json, uint64_t sequence, struct clocks_stamp *stamp)
{
	stamp->sequence = sequence;
	stamp->offset = (uint64_t)json_integer_value(json_object_get(json, "offset"));
	return take_number(json_object_get(json, "mono"), &stamp->mono) &&
	       take_time(json_object_get(json, "real"), &stamp->real);
}

/* A look that is surely later than those before it. */
static void add_look(struct clocks *c, const struct clocks_stamp *stamp)
{
	if (c->n_looks == CLOCKS_LOOKS)
		memmove(c->looks, c->looks + 1, --c->n_looks * sizeof(*c->looks));
	c->looks[c->n_looks++] = *stamp;
}

/* By both clocks: after dom0 has booted again, one of them means nothing. */
static void note_stamp(struct clocks *c, const struct clocks_stamp *stamp, bool another_look)
{
	const struct clocks_stamp *newest = c->n_looks ? &c->looks[c->n_looks - 1] : NULL;

	if (!newest || another_look ||
	    (stamp->mono >= newest->mono + APART_NS && stamp->real >= newest->real + APART_NS))
		add_look(c, stamp);
	if (stamp->mono >= c->latest.mono || !c->stamps)
		c->latest = *stamp;
	c->stamps++;
}

void clocks_stream(struct clocks *c)
{
	c->n_looks = 0;
}

/* The event at GUEST was copied at FIRST, the newest stamp. */
static void bound(struct clocks *c, uint64_t guest, const struct clocks_stamp *first, const struct clocks_stamp *before)
{
	mprof_clock_before(&c->mono, guest, first->mono);
	mprof_clock_before(&c->real, guest, first->real);
	if (!before)
		return;
	mprof_clock_after(&c->mono, guest, before->mono);
	mprof_clock_after(&c->real, guest, before->real);
}

void clocks_packet(struct clocks *c, const json_t *packet)
{
	const json_t *copied = json_object_get(packet, "copied");
	uint64_t sequence = (uint64_t)json_integer_value(json_object_get(packet, "sequence")), guest;
	struct clocks_stamp first, last, oldest;
	bool pieces, known;

	if (json_is_true(json_object_get(packet, "unproven")) ||
	    !take_number(json_object_get(packet, "first_timestamp"), &guest) ||
	    !take_stamp(json_object_get(copied, "first"), sequence, &first) ||
	    !take_stamp(json_object_get(copied, "last"), sequence, &last))
		return;
	if (json_is_true(json_object_get(packet, "clock_stepped")))
		*c = (struct clocks){.latest = c->latest, .stamps = c->stamps, .stepped = true};
	/* What is the oldest of so many looks when the newest of them is that of this copy, or one before it. */
	note_stamp(c, &first, false);
	known = c->n_looks == CLOCKS_LOOKS;
	oldest = c->looks[0];
	bound(c, guest, &first, known ? &oldest : NULL);
	pieces = last.offset > first.offset && json_integer_value(json_object_get(packet, "room")) <= PIECE_BYTES;
	note_stamp(c, &last, pieces);
}

static char *page_path(const char *path, const char *cursor)
{
	char *page = NULL;
	int n = asprintf(&page, "%s%climit=%d%s%s", path, strchr(path, '?') ? '&' : '?', PAGE, cursor ? "&cursor=" : "",
			 cursor ? cursor : "");

	return n < 0 ? NULL : page;
}

/* One page; *CURSOR becomes that of the next, NULL behind the last. */
static int read_page(struct clocks *c, struct http *h, const char *path, char **cursor)
{
	SCOPED(freep) char *page = page_path(path, *cursor);
	const char *next;
	const json_t *packets;
	json_t *json = NULL;
	size_t i;
	int r = page ? http_json_unless(h, page, 404, &json) : say_memory();

	if (r)
		return r;
	packets = json_object_get(json, "packets");
	for (i = 0; i < json_array_size(packets); i++)
		clocks_packet(c, json_array_get(packets, i));
	next = json_string_value(json_object_get(json, "next"));
	free(*cursor);
	*cursor = next ? strdup(next) : NULL;
	r = next && !*cursor ? say_memory() : CTL_OK;
	json_decref(json);
	return r;
}

int clocks_read(struct clocks *c, struct http *h, const struct target *t, const struct selection *s)
{
	SCOPED(freep) char *path = target_path(t, h, "packets", s);
	SCOPED(freep) char *cursor = NULL;
	int r;

	if (!path)
		return say_memory();
	clocks_stream(c);
	do
		r = read_page(c, h, path, &cursor);
	while (!r && cursor);
	return r;
}

bool clocks_offset(const struct clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty)
{
	const struct mprof_clock *clock = realtime ? &c->real : &c->mono;
	struct mprof_model_source source;

	mprof_clock_apply(clock, &source);
	/* Clocks of different speeds: the offset wandered by so much. */
	if (clock->bounded_above && clock->bounded_below && clock->most < clock->least)
		source.uncertainty_ns = (uint64_t)clock->least - (uint64_t)clock->most;
	*offset = source.offset_ns;
	*uncertainty = source.uncertainty_ns;
	return clock->bounded_above;
}
