/* Remember the ends of tails. A tail has few cuts, most often one, where its writer stopped. */
#include <stdlib.h>
#include <string.h>

#include "tail-ends.h"

#define CUTS_FIRST 4u

void tail_ends_deinit(struct tail_ends *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->records[i].cuts);
	free(t->records);
	*t = (struct tail_ends){0};
}

static bool is_named(const struct tail_record *r, const struct tail_name *t)
{
	const struct tail_name *a = &r->name;

	return r->known && a->archives == t->archives && a->stream == t->stream && a->capture == t->capture &&
	       a->begin_sequence == t->begin_sequence && a->begin_offset == t->begin_offset;
}

struct tail_record *tail_ends_find(struct tail_ends *t, const struct tail_name *name)
{
	size_t at = t->latest;

	/* A walk asks for one record again and again. */
	if (at >= t->n || !is_named(&t->records[at], name))
		for (at = 0; at < t->n && !is_named(&t->records[at], name); at++)
			;
	if (at == t->n)
		return NULL;
	t->latest = at;
	t->records[at].used = ++t->calls;
	return &t->records[at];
}

/* Empty R, so that another tail may have it. */
static void forget(struct tail_ends *t, struct tail_record *r)
{
	t->cuts -= r->room;
	free(r->cuts);
	r->cuts = NULL;
	r->n_cuts = r->room = 0;
	r->known = false;
}

/* Return the record, other than KEEP, that was not used for the longest time; NULL if there is none. */
static struct tail_record *oldest(struct tail_ends *t, const struct tail_record *keep, bool with_cuts)
{
	struct tail_record *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct tail_record *r = &t->records[i];

		if (r != keep && r->known && (r->room || !with_cuts) && (!found || r->used < found->used))
			found = r;
	}
	return found;
}

/* Return a record that has no tail, and forget another tail if that is necessary. */
static struct tail_record *free_record(struct tail_ends *t)
{
	struct tail_record *r;

	if (t->n < TAIL_RECORDS_MOST)
		return &t->records[t->n++];
	for (size_t i = 0; i < t->n; i++)
		if (!t->records[i].known)
			return &t->records[i];
	r = oldest(t, NULL, false);
	forget(t, r);
	return r;
}

struct tail_record *tail_ends_begin(struct tail_ends *t, const struct tail_name *name, uint64_t not_before,
				    uint64_t not_after)
{
	struct tail_record *r = tail_ends_find(t, name);

	if (!t->records)
		t->records = calloc(TAIL_RECORDS_MOST, sizeof(*t->records));
	if (!t->records)
		return NULL;
	if (r)
		return r;
	r = free_record(t);
	*r = (struct tail_record){.name = *name,
				  .known = true,
				  .next = name->begin_sequence,
				  .not_before = not_before,
				  .not_after = not_after,
				  .used = ++t->calls};
	return r;
}

/* Return the first of R's cuts at or behind packet SEQUENCE; R->n_cuts if there is none. */
static size_t cut_at(const struct tail_record *r, uint64_t sequence)
{
	size_t low = 0, high = r->n_cuts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->cuts[middle].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool tail_record_end(const struct tail_record *r, uint64_t sequence, uint32_t begin, uint32_t end, struct tail_end *out)
{
	size_t i;

	if (sequence >= r->next)
		return false;
	i = cut_at(r, sequence);
	*out = (struct tail_end){.valid = end, .resume = end};
	if (i < r->n_cuts && r->cuts[i].sequence == sequence && r->cuts[i].end.valid < end)
		*out = r->cuts[i].end;
	if (out->valid < begin)
		out->valid = begin;
	if (out->resume <= out->valid || out->resume > end)
		out->resume = end;
	return true;
}

/* Make room for one more cut in R, at the cost of the cuts of other tails. Return false if there is none. */
static bool reserve(struct tail_ends *t, struct tail_record *r)
{
	size_t room = r->room ? 2 * r->room : CUTS_FIRST;
	struct tail_record *other;
	struct tail_cut *more;

	if (r->n_cuts < r->room)
		return true;
	while (t->cuts + room - r->room > TAIL_CUTS_MOST && (other = oldest(t, r, true)))
		forget(t, other);
	more = t->cuts + room - r->room > TAIL_CUTS_MOST ? NULL : realloc(r->cuts, room * sizeof(*more));
	if (!more)
		return false;
	t->cuts += room - r->room;
	r->cuts = more;
	r->room = room;
	return true;
}

void tail_ends_note(struct tail_ends *t, struct tail_record *r, uint64_t sequence, const struct tail_end *cut,
		    uint64_t not_before)
{
	if (sequence < r->next || r->full)
		return;
	r->full = cut && !reserve(t, r);
	if (r->full)
		return;
	if (cut)
		r->cuts[r->n_cuts++] = (struct tail_cut){.sequence = sequence, .end = *cut};
	r->next = sequence + 1;
	r->not_before = not_before;
}
