/*
 * The content bytes of each stream. Invariant: the entries are sorted by stream, and each stream
 * has one entry. Identifiers of streams ascend, so a new stream is appended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

void usage_deinit(struct usage *t)
{
	free(t->entries);
	*t = (struct usage){0};
}

/* Return the index of STREAM, or the index at which to insert it. */
static size_t position(const struct usage *t, int64_t stream)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->entries[middle].stream < stream)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct usage_entry *find(const struct usage *t, int64_t stream)
{
	size_t at = position(t, stream);

	return at < t->n && t->entries[at].stream == stream && !t->entries[at].is_gone ? &t->entries[at] : NULL;
}

int usage_add_stream(struct usage *t, int64_t stream)
{
	size_t at = position(t, stream);

	if (at < t->n && t->entries[at].stream == stream) {
		/* The stream was deleted and inserted again in this transaction. Keep PENDING. */
		t->entries[at].is_gone = false;
		return 0;
	}
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct usage_entry *more = realloc(t->entries, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->entries = more;
		t->room = room;
	}
	memmove(t->entries + at + 1, t->entries + at, (t->n - at) * sizeof(*t->entries));
	t->entries[at] = (struct usage_entry){.stream = stream, .is_new = true};
	t->n++;
	t->changed = true;
	return 0;
}

void usage_remove_stream(struct usage *t, int64_t stream)
{
	struct usage_entry *e = find(t, stream);

	if (e) {
		e->is_gone = true;
		t->changed = true;
	}
}

bool usage_has(const struct usage *t, int64_t stream)
{
	return find(t, stream) != NULL;
}

void usage_add(struct usage *t, int64_t stream, int64_t bytes)
{
	struct usage_entry *e = find(t, stream);

	if (e && bytes) {
		e->bytes += bytes;
		e->pending += bytes;
		t->changed = true;
	}
}

int64_t usage_bytes(const struct usage *t, int64_t stream)
{
	const struct usage_entry *e = find(t, stream);

	return e ? e->bytes : 0;
}

void usage_commit(struct usage *t)
{
	size_t out = 0;

	if (!t->changed)
		return;
	for (size_t i = 0; i < t->n; i++) {
		if (t->entries[i].is_gone)
			continue;
		t->entries[out] = t->entries[i];
		t->entries[out].pending = 0;
		t->entries[out++].is_new = false;
	}
	t->n = out;
	t->changed = false;
}

void usage_rollback(struct usage *t)
{
	size_t out = 0;

	if (!t->changed)
		return;
	for (size_t i = 0; i < t->n; i++) {
		if (t->entries[i].is_new)
			continue;
		t->entries[out] = t->entries[i];
		t->entries[out].bytes -= t->entries[out].pending;
		t->entries[out].pending = 0;
		t->entries[out++].is_gone = false;
	}
	t->n = out;
	t->changed = false;
}
