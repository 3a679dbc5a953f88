/* Check the ranges of pinned captures, and remember the runs of those at which the file is damaged. */
#include "pinned.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "writer-state.h"

#define CHECK_NS (600 * NS_PER_S)

void pinned_deinit(struct pinned *p)
{
	free(p->list);
	*p = (struct pinned){0};
}

static int compare(const void *a, const void *b)
{
	const struct pinned_capture *one = a, *two = b;

	if (one->run != two->run)
		return one->run < two->run ? -1 : 1;
	return one->capture < two->capture ? -1 : one->capture > two->capture;
}

/* Return the number of entries below CAPTURE. */
static size_t position(const struct pinned *p, const struct pinned_capture *capture)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare(&p->list[middle], capture) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool pinned_is_due(const struct pinned *p)
{
	return !p->checked || clock_mono() - p->checked > CHECK_NS;
}

bool pinned_holds(const struct pinned *p, int64_t run)
{
	const size_t at = position(p, &(struct pinned_capture){run, INT64_MIN});

	return at < p->n && p->list[at].run == run;
}

static bool has(const struct pinned *p, const struct pinned_capture *capture)
{
	const size_t at = position(p, capture);

	return at < p->n && compare(&p->list[at], capture) == 0;
}

/* Append CAPTURE. The caller sorts the list. */
static int add(struct pinned *p, const struct pinned_capture *capture)
{
	if (p->n == p->room) {
		const size_t room = 2 * p->room + 16;
		struct pinned_capture *more = realloc(p->list, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->list = more;
		p->room = room;
	}
	p->list[p->n++] = *capture;
	return 0;
}

/* Sort the list, and drop what is twice in it. */
static void sort(struct pinned *p)
{
	size_t out = 0;

	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), compare);
	for (size_t i = 0; i < p->n; i++)
		if (!out || compare(&p->list[i], &p->list[out - 1]) != 0)
			p->list[out++] = p->list[i];
	p->n = out;
}

/* Find the first pinned capture above that of *CAPTURE. */
static int next(struct archive_writer *w, struct pinned_capture *capture, bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PINNED_CAPTURE, VALUES(capture->capture), &s);

	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	*is_none = r != STATEMENT_ROW;
	if (*is_none)
		return r;
	if (sqlite3_column_int64(s, 0) <= capture->capture) /* a damaged table would repeat it for ever */
		return -EBADMSG;
	*capture = (struct pinned_capture){.run = sqlite3_column_int64(s, 1), .capture = sqlite3_column_int64(s, 0)};
	return 0;
}

/* Check the ranges of CAPTURE. After an error what was counted as damage is as before, because nothing of it was written. */
static int check_capture(struct archive_writer *w, int64_t capture)
{
	const struct archive_damage damage = w->damage;
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = writer_leave(w, is_mine, list_check_ranges(w, capture, &(bool){false}));
	if (r != 0)
		w->damage = damage;
	return r;
}

/* Find all captures that cannot be checked. -EBADMSG: there may be others, behind the last one that was looked at. */
static int find_all(struct archive_writer *w, struct pinned *found)
{
	const bool is_open = w->store.in_transaction;
	struct pinned_capture capture = {.capture = INT64_MIN};

	for (;;) {
		bool is_none = true;
		int r = next(w, &capture, &is_none);

		if (r != 0 || is_none)
			return r;
		if (is_open && has(&w->pinned, &capture))
			continue;
		r = check_capture(w, capture.capture);
		if (r == -EBADMSG || r == ARCHIVE_E_ABSENT || r == ARCHIVE_E_DAMAGED)
			r = add(found, &capture) ? -ENOMEM : is_open ? -EBADMSG : 0;
		if (r != 0)
			return r;
	}
}

/* Log and count those of FOUND that are new. */
static void tell(struct archive_writer *w, const struct pinned *found, const char *guest)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct bad_place place = {.kind = BAD_PLACE_RANGES, .id = found->list[i].capture};

		if (has(&w->pinned, &found->list[i]))
			continue;
		bad_places_tell(&w->bad_places, &place, guest);
		w->damage.pieces++;
		w->damage.passed++;
	}
}

int pinned_check(struct archive_writer *w, const char *guest)
{
	CLEANUP(pinned_deinit) struct pinned found = {0};
	int r = find_all(w, &found), added = 0;

	if (r != 0 && r != -EBADMSG)
		return r;
	sort(&found);
	tell(w, &found, guest);
	for (size_t i = 0; (r != 0 || w->store.in_transaction) && i < w->pinned.n && added == 0; i++)
		added = add(&found, &w->pinned.list[i]);
	if (added != 0)
		return added;
	sort(&found);
	if (r == 0 && !w->store.in_transaction)
		found.checked = clock_mono();
	pinned_deinit(&w->pinned);
	w->pinned = found;
	found = (struct pinned){0};
	return r;
}
