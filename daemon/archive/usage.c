/*
 * The content bytes of each stream. Invariant: the entries are sorted by stream, and each stream
 * has one entry. Identifiers of streams ascend, so a new stream is appended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

void usage_deinit(struct usage *u)
{
	free(u->entries);
	*u = (struct usage){0};
}

/* Return the index of STREAM, or the index at which to insert it. */
static size_t position(const struct usage *u, int64_t stream)
{
	size_t low = 0, high = u->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (u->entries[middle].stream < stream)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct usage_entry *find(const struct usage *u, int64_t stream)
{
	size_t at = position(u, stream);

	return at < u->n && u->entries[at].stream == stream && !u->entries[at].is_gone ? &u->entries[at] : NULL;
}

int usage_add_stream(struct usage *u, int64_t stream)
{
	size_t at = position(u, stream);

	if (at < u->n && u->entries[at].stream == stream) {
		/* The stream was deleted and inserted again in this transaction. Keep PENDING. */
		u->entries[at].is_gone = false;
		return 0;
	}
	if (u->n == u->room) {
		size_t room = u->room ? 2 * u->room : 64;
		struct usage_entry *more = realloc(u->entries, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		u->entries = more;
		u->room = room;
	}
	memmove(u->entries + at + 1, u->entries + at, (u->n - at) * sizeof(*u->entries));
	u->entries[at] = (struct usage_entry){.stream = stream, .is_new = true};
	u->n++;
	u->changed = true;
	return 0;
}

void usage_remove_stream(struct usage *u, int64_t stream)
{
	struct usage_entry *e = find(u, stream);

	if (e) {
		e->is_gone = true;
		u->changed = true;
	}
}

bool usage_has(const struct usage *u, int64_t stream)
{
	return find(u, stream) != NULL;
}

void usage_add(struct usage *u, int64_t stream, int64_t bytes)
{
	struct usage_entry *e = find(u, stream);

	if (e && bytes) {
		e->bytes += bytes;
		e->pending += bytes;
		u->changed = true;
	}
}

int64_t usage_bytes(const struct usage *u, int64_t stream)
{
	const struct usage_entry *e = find(u, stream);

	return e ? e->bytes : 0;
}

bool usage_mark_unlisted(struct usage *u, int64_t stream)
{
	struct usage_entry *e = find(u, stream);

	if (!e || e->is_unlisted)
		return false;
	e->is_unlisted = true;
	return true;
}

void usage_commit(struct usage *u)
{
	size_t out = 0;

	if (!u->changed)
		return;
	for (size_t i = 0; i < u->n; i++) {
		if (u->entries[i].is_gone)
			continue;
		u->entries[out] = u->entries[i];
		u->entries[out].pending = 0;
		u->entries[out++].is_new = false;
	}
	u->n = out;
	u->changed = false;
}

void usage_rollback(struct usage *u)
{
	size_t out = 0;

	if (!u->changed)
		return;
	for (size_t i = 0; i < u->n; i++) {
		if (u->entries[i].is_new)
			continue;
		u->entries[out] = u->entries[i];
		u->entries[out].bytes -= u->entries[out].pending;
		u->entries[out].pending = 0;
		u->entries[out++].is_gone = false;
	}
	u->n = out;
	u->changed = false;
}
