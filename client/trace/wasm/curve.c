/*
 * A change is two variable-length numbers of seven bits per byte, the lowest first: the time since
 * the previous change, and the change of live samples. The latter is zigzag coded, modulo 2^64, so
 * there is a change between any two sums, also between wrapped sums of a hostile stream. Each piece
 * begins with absolute numbers, so reading can start at any piece.
 */
#include "curve.h"

#include <stdlib.h>

#include "wide.h"

#define PIECE_BYTES  (32u << 10)
#define CHANGE_BYTES 20 /* largest size of a change, bytes: two numbers of 64 bits */

struct curve_piece {
	uint8_t *bytes; /* owned */
	uint64_t time;	/* time before the piece's first change */
	uint64_t live;	/* live samples before the piece's first change */
	uint32_t used;
};

void curve_deinit(struct curve *c)
{
	struct curve_piece *pieces = c->pieces.items;

	for (uint32_t i = 0; i < c->pieces.n; i++)
		free(pieces[i].bytes);
	grow_deinit(&c->pieces);
	*c = (struct curve){0};
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (; number > 127; number >>= 7)
		*at++ = (uint8_t)(number | 128);
	*at++ = (uint8_t)number;
	return at;
}

static uint64_t take_number(const uint8_t **at)
{
	uint64_t number = 0;
	unsigned int shift = 0;

	for (; **at & 128; shift += 7)
		number |= (uint64_t)(*(*at)++ & 127) << shift;
	return number | (uint64_t)*(*at)++ << shift;
}

/* Return a piece with room for a change, or NULL without memory. */
static struct curve_piece *piece_at_end(struct curve *c)
{
	struct curve_piece *piece = c->pieces.items, new = {0};

	if (c->pieces.n && piece[c->pieces.n - 1].used <= PIECE_BYTES - CHANGE_BYTES)
		return &piece[c->pieces.n - 1];
	if (!grow_reserve(&c->pieces, sizeof(*piece), 1))
		return NULL;
	new.bytes = malloc(PIECE_BYTES);
	if (!new.bytes)
		return NULL;
	new.time = c->time;
	new.live = c->live;
	piece = grow_take(&c->pieces, sizeof(*piece));
	*piece = new;
	return piece;
}

bool curve_add(struct curve *c, uint64_t time, uint64_t live)
{
	struct curve_piece *piece;
	uint64_t change = live - c->live;
	uint8_t *end;

	if (!change)
		return true;
	piece = piece_at_end(c);
	if (!piece)
		return false;
	end = put_number(piece->bytes + piece->used, time - c->time);
	end = put_number(end, change << 1 ^ (0 - (change >> 63)));
	piece->used = (uint32_t)(end - piece->bytes);
	c->time = time;
	c->live = live;
	return true;
}

/*
 * A time line that is being filled, with the arguments of curve_line(). AT is the number of items
 * that are set, LIVE the live samples after the changes read so far.
 */
struct line {
	uint64_t from, length;
	double scale;
	double *out;
	uint32_t n, at;
	uint64_t live;
};

/* Set the items of the line whose times are before NOW. */
static void line_advance(struct line *l, uint64_t now)
{
	for (; l->at < l->n; l->at++) {
		/* Compare as a fraction: length * i / n need not be whole. */
		if (now <= l->from || !wide_less(l->length, l->at + 1, now - l->from, l->n))
			return;
		l->out[l->at] = (double)l->live * l->scale;
	}
}

static void line_piece(struct line *l, const struct curve_piece *piece)
{
	const uint8_t *at = piece->bytes, *end = at + piece->used;
	uint64_t time = piece->time, change;

	l->live = piece->live;
	while (at < end && l->at < l->n) {
		time += take_number(&at);
		change = take_number(&at);
		line_advance(l, time);
		l->live += change >> 1 ^ (0 - (change & 1));
	}
}

void curve_line(const struct curve *c, uint64_t from, uint64_t length, double scale, double *out, uint32_t n)
{
	const struct curve_piece *pieces = c->pieces.items;
	struct line l = {.from = from, .length = length, .scale = scale, .out = out, .n = n};
	uint32_t i = 0;

	/* Skip pieces that end before the range. */
	while (i + 1 < c->pieces.n && pieces[i + 1].time < from)
		i++;
	for (; i < c->pieces.n; i++)
		line_piece(&l, &pieces[i]);
	for (; l.at < n; l.at++)
		out[l.at] = (double)c->live * scale;
}
