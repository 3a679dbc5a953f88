/* Remember where deletions fail. */
#include "bad-places.h"

#include "clock.h"

#define TRIES_MOST 6u

static bool is_passed(const struct bad_places *b, size_t i, uint64_t now)
{
	return now - b->entries[i].failed_at < BAD_PLACES_NS << b->entries[i].tries;
}

/* Return the number of the entry of PLACE; b->n = there is none. */
static size_t find(const struct bad_places *b, const struct bad_place *place)
{
	size_t i = 0;

	while (i < b->n && (b->entries[i].place.kind != place->kind || b->entries[i].place.id != place->id ||
			    b->entries[i].place.sequence != place->sequence))
		i++;
	return i;
}

bool bad_places_has(const struct bad_places *b, const struct bad_place *place)
{
	const size_t i = find(b, place);

	return i < b->n && is_passed(b, i, clock_mono());
}

unsigned bad_places_count(const struct bad_places *b, enum bad_place_kind kind, int64_t id)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->entries[i].place.kind == kind && (!id || b->entries[i].place.id == id);
	return n;
}

void bad_places_tell(struct bad_places *b, const struct bad_place *place, const char *guest)
{
	static const char *const names[] = {
		[BAD_PLACE_NONE] = "none", [BAD_PLACE_PACKET] = "packet",     [BAD_PLACE_STREAM] = "stream",
		[BAD_PLACE_GAPS] = "gaps", [BAD_PLACE_CAPTURE] = "capture",   [BAD_PLACE_RANGES] = "ranges",
		[BAD_PLACE_RUN] = "run",   [BAD_PLACE_CAPTURES] = "captures", [BAD_PLACE_UNREAD] = "unread",
		[BAD_PLACE_RUNS] = "runs", [BAD_PLACE_PINNED] = "pinned",     [BAD_PLACE_STREAMS] = "streams",
	};

	log_write_limited(&b->lines, LOG_LEVEL_ERROR, guest,
			  "The archive's file is damaged at content that a limit deletes. The content stays for now, "
			  "newer content is deleted in its place, and mprofd --fsck saves what is whole: place=%s "
			  "id=%lld sequence=%llu",
			  names[place->kind], (long long)place->id,
			  (unsigned long long)(place->kind == BAD_PLACE_PACKET ? place->sequence : 0));
}

bool bad_places_note(struct bad_places *b, const struct bad_place *place, const char *guest, bool *is_new)
{
	const uint64_t now = clock_mono();
	size_t i = find(b, place);

	*is_new = i == b->n;
	if (place->kind == BAD_PLACE_NONE || (!*is_new && is_passed(b, i, now)))
		return false;
	/* A full list forgets a place that would be tried again anyway. */
	if (i == BAD_PLACES_MOST)
		for (i = 0; i < b->n && is_passed(b, i, now); i++)
			;
	if (i == BAD_PLACES_MOST)
		return false;
	b->n += i == b->n;
	b->entries[i].place = *place;
	b->entries[i].tries = *is_new ? 0 : b->entries[i].tries + (b->entries[i].tries < TRIES_MOST);
	b->entries[i].failed_at = now;
	bad_places_tell(b, place, guest);
	return true;
}
