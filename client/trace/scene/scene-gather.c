/*
 * The stretches of each row in the order of time.
 *
 * Items come in the order of events, so that most rows are in order; of the others the times are sorted beside the items, which spares looking
 * all over the model again and again.
 */
#include <stdlib.h>
#include <string.h>

#include "scene-rails.h"

struct stretch {
	uint64_t start;
	uint64_t end;
	uint32_t item;
};

struct room {
	struct stretch *a, *b;
	uint32_t n;
};

static bool is_before(const struct stretch *a, const struct stretch *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

/* Where what is in order from FROM on ends. */
static uint32_t run_end(const struct stretch *s, uint32_t from, uint32_t n)
{
	for (from++; from < n && !is_before(&s[from], &s[from - 1]);)
		from++;
	return from;
}

static void merge(const struct stretch *a, uint32_t a_n, const struct stretch *b, uint32_t b_n, struct stretch *out)
{
	while (a_n && b_n) {
		bool second = is_before(b, a);

		*out++ = second ? *b : *a;
		b += second;
		b_n -= second;
		a += !second;
		a_n -= !second;
	}
	memcpy(out, a_n ? a : b, (a_n ? a_n : b_n) * sizeof(*out));
}

/* Merge by twos what is in order in FROM into TO; true where one is left. */
static bool pass(const struct stretch *from, struct stretch *to, uint32_t n)
{
	uint32_t at = 0, middle, end = 0;

	for (; at < n; at = end) {
		middle = end = run_end(from, at, n);
		if (middle < n)
			end = run_end(from, middle, n);
		merge(from + at, middle - at, from + middle, end - middle, to + at);
		if (!at && end == n)
			return true;
	}
	return false;
}

static bool room_for(struct room *room, uint32_t n)
{
	if (n <= room->n)
		return true;
	free(room->a);
	free(room->b);
	n = n < UINT32_MAX / 2 ? n + n / 4 : n;
	room->n = n;
	room->a = malloc(n * sizeof(*room->a));
	room->b = malloc(n * sizeof(*room->b));
	return room->a && room->b;
}

/* Put a row in order, of which A of ROOM holds the times. */
static void sort_row(struct room *room, uint32_t *items, uint32_t n)
{
	struct stretch *s = room->a, *other = room->b, *swap;
	bool sorted = n < 2 || run_end(s, 0, n) == n;
	uint32_t i;

	if (sorted)
		return;
	for (; !sorted; s = other, other = swap) {
		sorted = pass(s, other, n);
		swap = s;
	}
	for (i = 0; i < n; i++)
		items[i] = s[i].item;
	room->a = s;
	room->b = other;
}

/* Where stretches overlap each ends when the last up to it does.  False without memory. */
static bool cover(struct rails *l, struct stretch *s, uint32_t from, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n && !(s[i].start < s[i - 1].end);)
		i++;
	if (i >= n && !l->cover)
		return true;
	if (!l->cover) {
		l->cover = malloc(((size_t)l->n + 1) * sizeof(*l->cover));
		if (!l->cover)
			return false;
		memcpy(l->cover, l->items, l->n * sizeof(*l->cover));
	}
	for (i = 0; i < n; i++) {
		l->cover[from + i] = s[i].item;
		if (i && s[i].end < s[i - 1].end) {
			l->cover[from + i] = l->cover[from + i - 1];
			s[i].end = s[i - 1].end;
		}
	}
	return true;
}

static uint32_t short_of(uint64_t from, uint64_t to)
{
	return to < from || to - from > UINT32_MAX ? UINT32_MAX : (uint32_t)(to - from);
}

static void keep(struct rails *l, const struct stretch *s, uint32_t from, uint32_t n)
{
	uint32_t i, place;

	for (i = 0; l->begins && i < n; i++) {
		place = from + i;
		if (place % (1u << NODE_SHIFT) == 0)
			l->bases[place >> NODE_SHIFT] = s[i].start;
		l->begins[place] = short_of(l->bases[place >> NODE_SHIFT], s[i].start);
		l->lengths[place] = short_of(s[i].start, s[i].end);
	}
}

static bool rows_init(struct rails *l, const uint32_t *starts, struct room *room)
{
	uint32_t row, from, n, i;

	for (row = 0; row < l->rows; row++) {
		from = starts[row];
		n = starts[row + 1] - from;
		if (!room_for(room, n))
			return false;
		for (i = 0; i < n; i++) {
			uint32_t item = l->items[from + i];

			room->a[i] = (struct stretch){rails_item_start(l, item), rails_item_end(l, item), item};
		}
		sort_row(room, l->items + from, n);
		if (!cover(l, room->a, from, n))
			return false;
		keep(l, room->a, from, n);
	}
	return true;
}

bool rails_gather(struct rails *l, const uint32_t *starts)
{
	struct room room = {0};
	bool ok = true;

	/* Of bands few are looked at for each picture. */
	if (l->of < RAILS_SLEEPING) {
		l->bases = malloc(((size_t)l->n / (1u << NODE_SHIFT) + 1) * sizeof(*l->bases));
		l->begins = malloc(((size_t)l->n + 1) * sizeof(*l->begins));
		l->lengths = malloc(((size_t)l->n + 1) * sizeof(*l->lengths));
		ok = l->bases && l->begins && l->lengths;
	}
	ok = ok && rows_init(l, starts, &room);
	free(room.a);
	free(room.b);
	return ok && (l->of >= RAILS_SLEEPING || rails_sum_up(l, 0, l->n));
}
