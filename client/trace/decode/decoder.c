/*
 * The streaming decoder.
 *
 * The same bytes come from a mapped file, from an HTTP body in pieces of any size, or from a
 * browser. All of them give the same events and the same damage, wherever the pieces are cut. The
 * *carry* is the buffer for an event or header that such a cut divides.
 *
 * Invariants:
 * - An event is decoded where it is in the fed bytes. Only an event that a cut divides is assembled
 *   in the carry.
 * - OFFSET is the input's offset of the first byte not consumed. The carry's bytes come first, then
 *   the fed ones.
 * - The carry is empty in padding, holds less than 30 bytes between packets, and at most
 *   MPROF_EVENT_BYTES_MAX + 1. It grows by the bytes received, never by the size in a header.
 * - Each byte is examined a bounded number of times, however the input is cut: of a string in the
 *   carry only the new bytes are searched for the NUL.
 * - Damage is described in full before MPROF_CORRUPT is returned, so one fault is one report.
 * - At a broken event the rest of the packet's content is gathered in the carry, unless the fed bytes
 *   have all of it; at an event whose time must be judged (mprof/times.h), the events behind it. Then events are
 *   decoded there: IN and LEFT are in the carry, and BEHIND and BEHIND_LEFT are the fed bytes. When these bytes are used
 *   up, or end inside an event, decoding goes on in the fed bytes.
 * - Each event that mprof_decoder_batch() takes by the fast path (walk.c) is the one that
 *   mprof_decoder_next() would return.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/extra.h>
#include <mprof/times.h>
#include <mprof/trace.h>

#include "event-resume.h"
#include "extras.h"
#include "walk.h"

enum state {
	STATE_HEADER,  /* before a packet header */
	STATE_CONTENT, /* before an event, or at the end of the content */
	STATE_BROKEN,  /* at an event that cannot be decoded: the damage is described up to the bytes skipped */
	STATE_DOUBT,   /* at an event whose time the events behind it must judge */
	STATE_PADDING, /* in the bytes behind the content, or in content that is skipped because of damage */
	STATE_SEARCH,  /* after a bad header: search the next valid header */
};

/* Most bytes of an event without its string. */
#define FIXED_MAX    26u
#define EXTRA_FIXED  (MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES)
#define SIGNATURE    20u /* magic and uuid */
#define CARRY_INLINE 64u

/* State of the check of events' times. Zeroes at the start of an input. Times are in ns. */
struct clock {
	bool started;	 /* an event was given out */
	uint16_t count;	 /* count of its packet */
	uint64_t start;	 /* its time */
	uint64_t latest; /* time with which the next event is compared; 0 = none */
	bool judged;	 /* the event at OFFSET was judged; VERDICT is the result */
	bool untimed;	 /* it is taken without its time */
	enum mprof_times_verdict verdict;
	size_t bytes; /* of the event that is being judged */
	/* The last event, if nothing behind it has told yet whether its time is damaged: its place, and LATEST before it. */
	bool alone;
	uint64_t alone_before, alone_time;
	struct mprof_damage alone_place;
};

struct mprof_decoder {
	const uint8_t *in;
	size_t left;
	const uint8_t *behind; /* fed bytes behind the content that is in the carry; NULL = IN is in the fed bytes */
	size_t behind_left;
	uint8_t *carry;
	size_t carried;
	size_t carry_room;
	uint64_t offset;
	uint64_t next_index;
	uint32_t content_left; /* bytes of the packet's content from OFFSET on */
	uint32_t padding_left;
	enum state state;
	bool finished;
	bool lent; /* the caller has an event whose text is in the carry */
	bool sequenced;
	struct mprof_packet packet;
	struct mprof_damage damage;
	struct mprof_totals totals;
	struct extras extras;
	struct resume_times times;
	struct clock clock;
	uint8_t small[CARRY_INLINE];
};

struct mprof_decoder *mprof_decoder_new(void)
{
	struct mprof_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->in = d->small;
	d->carry = d->small;
	d->carry_room = sizeof(d->small);
	extras_init(&d->extras);
	return d;
}

struct mprof_decoder *mprof_decoder_free(struct mprof_decoder *d)
{
	if (!d)
		return NULL;
	if (d->carry != d->small)
		free(d->carry);
	extras_deinit(&d->extras);
	free(d);
	return NULL;
}

void mprof_decoder_recorders(struct mprof_decoder *d, bool wanted)
{
	d->extras.recorders = wanted;
}

void mprof_decoder_begin(struct mprof_decoder *d, uint64_t offset, uint64_t index)
{
	d->in = d->small;
	d->left = 0;
	d->behind = NULL;
	d->carried = 0;
	d->lent = false;
	d->finished = false;
	d->offset = offset;
	d->next_index = index;
	d->state = STATE_HEADER;
	d->clock.judged = false;
	extras_clear(&d->extras);
}

void mprof_decoder_feed(struct mprof_decoder *d, const void *bytes, size_t len)
{
	d->in = len ? bytes : d->small;
	d->left = len;
}

void mprof_decoder_finish(struct mprof_decoder *d)
{
	d->finished = true;
}

const struct mprof_packet *mprof_decoder_packet(const struct mprof_decoder *d)
{
	return &d->packet;
}

const struct mprof_damage *mprof_decoder_damage(const struct mprof_decoder *d)
{
	return &d->damage;
}

const struct mprof_totals *mprof_decoder_totals(const struct mprof_decoder *d)
{
	return &d->totals;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Consume N fed bytes that were never in the carry. */
static void drop_fed(struct mprof_decoder *d, size_t n)
{
	d->in += n;
	d->left -= n;
	d->offset += n;
}

/* Move N fed bytes to the end of the carry. Return false without memory, with nothing moved. */
static bool carry_take(struct mprof_decoder *d, size_t n)
{
	size_t need = d->carried + n, room = d->carry_room;
	uint8_t *grown;

	if (need > room) {
		while (room < need)
			room *= 2;
		grown = realloc(d->carry == d->small ? NULL : d->carry, room);
		if (!grown)
			return false;
		if (d->carry == d->small)
			memcpy(grown, d->small, d->carried);
		d->carry = grown;
		d->carry_room = room;
	}
	if (n)
		memcpy(d->carry + d->carried, d->in, n);
	d->carried += n;
	d->in += n;
	d->left -= n;
	return true;
}

/*
 * Move the last N bytes of the carry back: they are also the fed bytes before IN, which is set
 * back.
 */
static void carry_return(struct mprof_decoder *d, size_t n)
{
	d->carried -= n;
	d->in -= n;
	d->left += n;
}

static void carry_drop(struct mprof_decoder *d)
{
	d->offset += d->carried;
	d->carried = 0;
}

/* Go on in the fed bytes, and keep the bytes of the carry that were not decoded for it. */
static void carry_back(struct mprof_decoder *d)
{
	if (d->left)
		memmove(d->carry, d->in, d->left);
	d->carried = d->left;
	d->in = d->behind;
	d->left = d->behind_left;
	d->behind = NULL;
}

/*
 * Gather WANT bytes of the packet's content, from OFFSET on, in one piece. Return MPROF_OK with *P at them; MPROF_MORE;
 * MPROF_END if the input ends before, with *P at the bytes in the carry; or MPROF_NOMEM.
 */
static enum mprof_status gather(struct mprof_decoder *d, size_t want, const uint8_t **p)
{
	if (d->behind && d->left < want)
		carry_back(d);
	*p = d->in;
	if (!d->carried && d->left >= want)
		return MPROF_OK;
	if (d->carried < want && !carry_take(d, smaller(d->left, want - d->carried)))
		return MPROF_NOMEM;
	*p = d->carry;
	if (d->carried < want)
		return d->finished ? MPROF_END : MPROF_MORE;
	return MPROF_OK;
}

/* Go on decoding AT bytes behind OFFSET, in the bytes that gather() has found. */
static void resume_at(struct mprof_decoder *d, size_t at)
{
	d->content_left -= (uint32_t)at;
	d->state = STATE_CONTENT;
	if (!d->carried) {
		drop_fed(d, at);
		return;
	}
	d->behind = d->in;
	d->behind_left = d->left;
	d->in = d->carry + at;
	d->left = d->carried - at;
	d->carried = 0;
	d->offset += at;
}

/*
 * Begin the description of damage at OFFSET in the current packet. Return it; the caller sets its
 * other fields.
 */
static struct mprof_damage *damage_at(struct mprof_decoder *d, enum mprof_damage_reason reason)
{
	d->damage = (struct mprof_damage){
		.reason = reason,
		.packet = d->packet.index,
		.packet_offset = d->packet.offset,
		.offset = d->offset,
		.counted = true,
		.count = d->packet.count,
	};
	return &d->damage;
}

/*
 * Report that the input ends inside the current packet, and drop the carry. Return MPROF_CORRUPT.
 */
static enum mprof_status cut_input(struct mprof_decoder *d)
{
	struct mprof_damage *damage = damage_at(d, MPROF_DAMAGE_CUT_INPUT);

	damage->offset = d->offset + d->carried;
	damage->skipped = d->carried;
	carry_drop(d);
	d->state = STATE_HEADER;
	return MPROF_CORRUPT;
}

/* Describe the damage that no valid header is at OFFSET; STATUS says why. Go on in STATE_SEARCH. */
static void header_fault(struct mprof_decoder *d, enum mprof_packet_status status)
{
	d->damage = (struct mprof_damage){
		.reason = MPROF_DAMAGE_HEADER,
		.packet = d->next_index++,
		.packet_offset = d->offset,
		.offset = d->offset,
		.header = status,
	};
}

static void packet_open(struct mprof_decoder *d, const struct mprof_packet_header *h)
{
	struct mprof_packet *p = &d->packet;
	uint16_t step = (uint16_t)(h->count - p->count);

	p->sequence = d->sequenced ? mprof_sequence_after(p->sequence, h->count) : h->count;
	if (d->sequenced && step > 1 && step <= 0x8000)
		d->totals.lost_packets += step - 1u;
	/* A packet with the count of the one before is its continuation, and has its texts. */
	if (!d->sequenced || step)
		extras_clear(&d->extras);
	d->totals.packets++;
	d->sequenced = true;
	p->index = d->next_index++;
	p->offset = d->offset;
	p->count = h->count;
	p->packet_bytes = h->packet_bytes;
	p->content_bytes = h->content_bytes;
	resume_times_open(&d->times);
	d->content_left = h->content_bytes - MPROF_PACKET_HEADER_BYTES;
	d->padding_left = h->packet_bytes - h->content_bytes;
	d->state = STATE_CONTENT;
}

/* Handle STATE_HEADER. Return MPROF_OK to continue in another state. */
static enum mprof_status step_header(struct mprof_decoder *d)
{
	struct mprof_packet_header h;
	enum mprof_packet_status status;
	const uint8_t *p = d->in;

	if (d->carried + d->left == 0)
		return d->finished ? MPROF_END : MPROF_MORE;
	if (d->carried || d->left < MPROF_PACKET_HEADER_BYTES) {
		if (!carry_take(d, smaller(d->left, MPROF_PACKET_HEADER_BYTES - d->carried)))
			return MPROF_NOMEM;
		if (d->carried < MPROF_PACKET_HEADER_BYTES && !d->finished)
			return MPROF_MORE;
		p = d->carry;
	}
	status = mprof_packet_load(&h, p, d->carried ? d->carried : MPROF_PACKET_HEADER_BYTES);
	if (status == MPROF_PACKET_OK) {
		packet_open(d, &h);
	} else {
		header_fault(d, status);
		d->state = STATE_SEARCH;
	}
	if (d->state == STATE_CONTENT && d->carried)
		carry_drop(d);
	else if (d->state == STATE_CONTENT)
		drop_fed(d, MPROF_PACKET_HEADER_BYTES);
	return MPROF_OK;
}

/*
 * Return the position of the first valid packet header in LEN bytes at P from FROM on, or LEN when
 * none is complete.
 */
static size_t find_header(const uint8_t *p, size_t from, size_t len)
{
	static const uint8_t signature[SIGNATURE] = {
		0xc1, 0x1f, 0xfc, 0xc1, 0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a,
		0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c,
	};
	struct mprof_packet_header h;
	const uint8_t *found;

	while (from < len) {
		found = memmem(p + from, len - from, signature, sizeof(signature));
		if (!found)
			return len;
		from = (size_t)(found - p);
		if (len - from < MPROF_PACKET_HEADER_BYTES)
			return len;
		if (mprof_packet_load(&h, found, len - from) == MPROF_PACKET_OK)
			return from;
		from++;
	}
	return len;
}

/*
 * End the search at a valid header or at the end of the input. Return MPROF_CORRUPT, for the
 * skipped bytes.
 */
static enum mprof_status search_done(struct mprof_decoder *d)
{
	d->damage.skipped = d->offset - d->damage.packet_offset;
	d->state = STATE_HEADER;
	return MPROF_CORRUPT;
}

/*
 * Search a valid header that begins in the carry, at or after position FROM of it. The header may
 * end in the fed bytes, so the first of them are appended for the search. Return MPROF_CORRUPT when
 * a header is found; MPROF_OK when none begins in the carry, which is then empty; MPROF_MORE when
 * more bytes are needed to decide; or MPROF_NOMEM.
 */
static enum mprof_status search_carry(struct mprof_decoder *d, size_t from)
{
	size_t old = d->carried, taken, at;

	taken = smaller(d->left, MPROF_PACKET_HEADER_BYTES - 1);
	if (!carry_take(d, taken))
		return MPROF_NOMEM;
	at = find_header(d->carry, from, d->carried);
	if (at < old) { /* a header at or after OLD begins in the fed bytes: the caller finds it there */
		carry_return(d, d->carried - at - MPROF_PACKET_HEADER_BYTES);
		memmove(d->carry, d->carry + at, MPROF_PACKET_HEADER_BYTES);
		d->carried = MPROF_PACKET_HEADER_BYTES;
		d->offset += at;
		return search_done(d);
	}
	if (taken == MPROF_PACKET_HEADER_BYTES - 1 || d->finished) {
		carry_return(d, taken);
		carry_drop(d);
		return MPROF_OK;
	}
	at = d->carried - smaller(d->carried - from, MPROF_PACKET_HEADER_BYTES - 1);
	memmove(d->carry, d->carry + at, d->carried - at);
	d->carried -= at;
	d->offset += at;
	return MPROF_MORE;
}

/*
 * Handle STATE_SEARCH: skip bytes up to the next valid header. No header begins before OFFSET. As
 * long as OFFSET is where the bad header begins (the damage's packet_offset), the search begins one
 * byte later.
 */
static enum mprof_status step_search(struct mprof_decoder *d)
{
	size_t from = d->offset == d->damage.packet_offset, at;
	enum mprof_status status;

	if (d->carried) {
		status = search_carry(d, from);
		if (status != MPROF_OK)
			return status;
		from = 0;
	}
	at = find_header(d->in, from, d->left);
	if (at < d->left || d->finished) {
		drop_fed(d, at);
		return search_done(d);
	}
	/* Skip the bad header's first byte. Keep the last 29 bytes: a header may begin in them. */
	from = smaller(from, d->left);
	drop_fed(d, d->left - smaller(d->left - from, MPROF_PACKET_HEADER_BYTES - 1));
	return carry_take(d, d->left) ? MPROF_MORE : MPROF_NOMEM;
}

/*
 * Describe an event at OFFSET that cannot be decoded, with event id ID. step_broken() finds out how many bytes
 * are skipped. Return MPROF_CORRUPT.
 */
static enum mprof_status content_fault(struct mprof_decoder *d, enum mprof_damage_reason reason, uint8_t id)
{
	damage_at(d, reason)->id = id;
	d->state = STATE_BROKEN;
	return MPROF_CORRUPT;
}

/* Skip the packet from OFFSET on. Return MPROF_CORRUPT, for the skipped bytes. */
static enum mprof_status broken_skip(struct mprof_decoder *d)
{
	if (d->behind)
		carry_back(d);
	d->damage.skipped = d->content_left;
	d->padding_left += d->content_left - (uint32_t)d->carried;
	d->content_left = 0;
	carry_drop(d);
	d->state = STATE_PADDING;
	return MPROF_CORRUPT;
}

/*
 * Handle STATE_BROKEN: go on with the events behind the broken one, or skip the packet. The whole rest of its
 * content is needed for that. Return MPROF_CORRUPT, MPROF_MORE or MPROF_NOMEM.
 */
static enum mprof_status step_broken(struct mprof_decoder *d)
{
	enum mprof_status status;
	const uint8_t *p;
	size_t at;

	if (d->content_left > MPROF_EVENT_BYTES_MAX)
		return broken_skip(d);
	status = gather(d, d->content_left, &p);
	if (status != MPROF_OK)
		return status == MPROF_END ? broken_skip(d) : status;
	at = resume_find(&d->times, p, d->content_left, &d->damage.unproven);
	if (at == d->content_left)
		return broken_skip(d);
	d->damage.skipped = at;
	resume_at(d, at);
	return MPROF_CORRUPT;
}

/* Return whether E is not given out, and its time says nothing: it is a text, or tells of the recorder. */
static bool is_untimed(const struct mprof_raw_event *e)
{
	return e->id == MPROF_EVENT_extra && (e->type == MPROF_EXTRA_TEXT || e->type == MPROF_EXTRA_RECORDER);
}

/* If the time of the event E at OFFSET must be judged, begin that. Return whether it must. */
static bool doubt(struct mprof_decoder *d, const struct mprof_raw_event *e)
{
	struct clock *c = &d->clock;

	if (c->judged || (c->latest && !c->alone && !mprof_times_doubt(c->latest, e->timestamp)))
		return false;
	c->bytes = e->bytes;
	c->untimed = is_untimed(e);
	d->state = STATE_DOUBT;
	return true;
}

/*
 * If the last event was alone, judge it by the one behind it, at TIME: the clock may go on from the event before. Return
 * MPROF_CORRUPT if it was damaged, else MPROF_OK.
 */
static enum mprof_status judge_alone(struct mprof_decoder *d, uint64_t time)
{
	struct clock *c = &d->clock;

	if (!c->alone || c->untimed)
		return MPROF_OK;
	c->alone = false;
	if (!mprof_times_near(time, c->alone_before, mprof_times_distance(c->alone_time, c->alone_before)) &&
	    !mprof_times_overtaken(c->alone_before, c->alone_time, time))
		return MPROF_OK;
	c->latest = c->alone_before;
	if (!mprof_times_stands_out(c->alone_before, c->alone_time, time))
		return MPROF_OK;
	d->damage = c->alone_place;
	return MPROF_CORRUPT;
}

/* Store in *B the times behind the event at OFFSET. Return MPROF_OK with *P at the event, or as gather(). */
static enum mprof_status look_behind(struct mprof_decoder *d, struct mprof_times_behind *b, const uint8_t **p)
{
	const size_t bytes = d->clock.bytes, most = smaller(d->content_left, bytes + MPROF_TIMES_REACH);
	enum mprof_status status;

	*p = d->in;
	if (!d->carried) {
		mprof_times_look(b, *p + bytes, smaller(d->left, most) - bytes, false);
		if (b->n == MPROF_TIMES_NEIGHBOURS)
			return MPROF_OK;
	}
	status = gather(d, most, p);
	if (status == MPROF_MORE || status == MPROF_NOMEM)
		return status;
	mprof_times_look(b, *p + bytes, (status == MPROF_END ? d->carried : most) - bytes,
			 status != MPROF_END && most == d->content_left);
	return MPROF_OK;
}

/* Handle STATE_DOUBT. Return MPROF_OK if the event at OFFSET is to be taken; MPROF_CORRUPT, MPROF_MORE or MPROF_NOMEM. */
static enum mprof_status step_doubt(struct mprof_decoder *d)
{
	struct clock *c = &d->clock;
	struct mprof_times_behind b;
	enum mprof_status status;
	const uint8_t *p;
	uint64_t time;

	status = look_behind(d, &b, &p);
	if (status != MPROF_OK)
		return status;
	time = mprof_load64(p);
	status = judge_alone(d, time);
	if (status != MPROF_OK)
		return status;
	c->verdict = mprof_times_judge(c->latest, time, &b, c->count && d->times.any && time < c->start);
	c->judged = c->verdict != MPROF_TIMES_DAMAGED || c->untimed;
	if (c->verdict == MPROF_TIMES_DAMAGED)
		damage_at(d, MPROF_DAMAGE_TIME)->skipped = c->untimed ? 0 : c->bytes;
	resume_at(d, c->judged ? 0 : c->bytes);
	return c->verdict == MPROF_TIMES_DAMAGED ? MPROF_CORRUPT : MPROF_OK;
}

/* Count that the clock went back from FROM to TO, ns. */
static void count_step(struct mprof_totals *t, uint64_t from, uint64_t to)
{
	t->steps++;
	if (from - to > t->step_ns) {
		t->step_ns = from - to;
		t->step_at = from;
	}
}

/* The event at OFFSET is alone, at TIME. */
static void note_alone(struct mprof_decoder *d, uint64_t time)
{
	struct clock *c = &d->clock;

	c->alone = true;
	c->alone_before = c->latest;
	c->alone_time = time;
	c->alone_place = (struct mprof_damage){
		.reason = MPROF_DAMAGE_TIME,
		.packet = d->packet.index,
		.packet_offset = d->packet.offset,
		.offset = d->offset,
		.counted = true,
		.count = d->packet.count,
	};
	c->latest = time > c->latest ? time : c->latest;
}

/* Take the TIME of the event at OFFSET, which is given out. */
static void note_time(struct mprof_decoder *d, uint64_t time)
{
	struct clock *c = &d->clock;
	bool judged = c->judged;

	c->judged = false;
	if (judged && c->untimed)
		return;
	if (!c->started) {
		c->started = true;
		c->start = time;
		c->count = d->packet.count;
	}
	resume_times_add(&d->times, time);
	if (judged && c->verdict == MPROF_TIMES_ALONE) {
		note_alone(d, time);
	} else if (judged && c->verdict == MPROF_TIMES_BACK) {
		count_step(&d->totals, c->latest, time);
		c->latest = time;
	} else if (time > c->latest && !(judged && c->verdict == MPROF_TIMES_AHEAD)) {
		c->latest = time;
	}
}

/* End the content of a packet. */
static void content_end(struct mprof_decoder *d)
{
	if (d->behind)
		carry_back(d);
	d->state = STATE_PADDING;
}

/*
 * Decide what STATUS, the result of loading an event from AVAIL bytes at OFFSET, means. Return
 * MPROF_OK for an event, MPROF_MORE when the event continues after these bytes, or MPROF_CORRUPT.
 */
static enum mprof_status event_verdict(struct mprof_decoder *d, enum mprof_event_status status,
				       const struct mprof_raw_event *raw, size_t avail)
{
	if (status == MPROF_EVENT_UNKNOWN_ID)
		return content_fault(d, MPROF_DAMAGE_UNKNOWN_ID, raw->id);
	if (status == MPROF_EVENT_OK && raw->bytes <= MPROF_EVENT_BYTES_MAX)
		return MPROF_OK;
	if (status == MPROF_EVENT_OK || avail > MPROF_EVENT_BYTES_MAX)
		return content_fault(d, MPROF_DAMAGE_LONG_EVENT, 0);
	if (avail == d->content_left)
		return content_fault(d, MPROF_DAMAGE_CUT_EVENT, 0);
	return MPROF_MORE;
}

/*
 * Return the number of fed bytes to move to the carry: as many as its event's fixed part needs at
 * most, and when the carry has these, those up to the end of the event's string.
 */
static size_t carry_wants(const struct mprof_decoder *d)
{
	size_t reach = smaller(d->left, d->content_left - d->carried);
	const uint8_t *end;

	if (d->carried < EXTRA_FIXED)
		return smaller(reach, EXTRA_FIXED - d->carried);
	if (d->carry[8] != MPROF_EVENT_extra && d->carried < FIXED_MAX)
		return smaller(reach, FIXED_MAX - d->carried);
	if (d->carry[8] == MPROF_EVENT_extra)
		return smaller(reach, EXTRA_FIXED + mprof_load16(d->carry + MPROF_EVENT_HEADER_BYTES) - d->carried);
	reach = smaller(reach, MPROF_EVENT_BYTES_MAX + 1 - d->carried);
	end = reach ? memchr(d->in, 0, reach) : NULL;
	return end ? (size_t)(end - d->in) + 1 : reach;
}

/* Decode an event that began in bytes fed before. */
static enum mprof_status step_carried(struct mprof_decoder *d, struct mprof_event *event)
{
	enum mprof_status status;

	for (;;) {
		size_t n = carry_wants(d);

		if (!n)
			return d->finished ? cut_input(d) : MPROF_MORE;
		if (!carry_take(d, n))
			return MPROF_NOMEM;
		if (d->carried > FIXED_MAX && d->carry[8] != MPROF_EVENT_extra && d->carry[d->carried - 1] &&
		    d->carried <= MPROF_EVENT_BYTES_MAX && d->carried < d->content_left)
			continue; /* the string does not end in these bytes: take more */
		status = event_verdict(d, mprof_event_load(&event->raw, d->carry, d->carried), &event->raw, d->carried);
		if (status == MPROF_CORRUPT)
			return status;
		if (status == MPROF_OK)
			break;
	}
	carry_return(d, d->carried - event->raw.bytes);
	if (doubt(d, &event->raw))
		return MPROF_CORRUPT;
	note_time(d, event->raw.timestamp);
	event->offset = d->offset;
	d->content_left -= (uint32_t)event->raw.bytes;
	d->lent = true;
	return MPROF_OK;
}

/* Decode an event in STATE_CONTENT, with content left. MPROF_CORRUPT: it is broken, or must be judged; see the state. */
static enum mprof_status step_event(struct mprof_decoder *d, struct mprof_event *event)
{
	enum mprof_status status;
	size_t avail;

	if (d->behind && !d->left)
		carry_back(d);
	if (d->carried)
		return step_carried(d, event);
	avail = smaller(d->left, d->content_left);
	if (!avail)
		return d->finished ? cut_input(d) : MPROF_MORE;
	status = event_verdict(d, mprof_event_load(&event->raw, d->in, avail), &event->raw, avail);
	if (status == MPROF_MORE && d->behind) {
		carry_back(d);
		return step_carried(d, event);
	}
	if (status == MPROF_MORE)
		return !carry_take(d, avail) ? MPROF_NOMEM : d->finished ? cut_input(d) : MPROF_MORE;
	if (status == MPROF_OK && doubt(d, &event->raw))
		return MPROF_CORRUPT;
	if (status == MPROF_OK) {
		note_time(d, event->raw.timestamp);
		event->offset = d->offset;
		d->content_left -= (uint32_t)event->raw.bytes;
		drop_fed(d, event->raw.bytes);
	}
	return status;
}

/* Handle STATE_PADDING. Return MPROF_OK to continue in another state. */
static enum mprof_status step_padding(struct mprof_decoder *d)
{
	size_t n = smaller(d->left, d->padding_left);

	if (n) {
		drop_fed(d, n);
		d->padding_left -= (uint32_t)n;
	}
	if (d->padding_left)
		return d->finished ? cut_input(d) : MPROF_MORE;
	d->state = STATE_HEADER;
	return MPROF_OK;
}

/* Drop the last returned event, if its text is in the carry: its lifetime ends. */
static void take_back(struct mprof_decoder *d)
{
	if (d->lent)
		carry_drop(d);
	d->lent = false;
}

static enum mprof_status step(struct mprof_decoder *d, struct mprof_event *event)
{
	enum mprof_status status = MPROF_OK;

	take_back(d);
	while (status == MPROF_OK) {
		if (d->state == STATE_CONTENT && d->content_left) {
			status = step_event(d, event);
			if (status == MPROF_CORRUPT && (d->state == STATE_BROKEN || d->state == STATE_DOUBT))
				status = MPROF_OK;
			else if (status != MPROF_OK || event->raw.id != MPROF_EVENT_extra ||
				 extras_take(&d->extras, &event->raw, &d->totals))
				return status;
			else
				take_back(d);
			continue;
		}
		if (d->state == STATE_CONTENT)
			content_end(d);
		if (d->state == STATE_BROKEN)
			status = step_broken(d);
		else if (d->state == STATE_DOUBT)
			status = step_doubt(d);
		else if (d->state == STATE_PADDING)
			status = step_padding(d);
		else if (d->state == STATE_SEARCH)
			status = step_search(d);
		else
			status = step_header(d);
	}
	return status;
}

enum mprof_status mprof_decoder_next(struct mprof_decoder *d, struct mprof_event *event)
{
	enum mprof_status status = step(d, event);

	if (status == MPROF_CORRUPT) {
		d->totals.damages++;
		d->totals.skipped += d->damage.skipped;
		d->totals.unproven += d->damage.unproven;
	}
	return status;
}

/*
 * Decode up to N events of the current packet that are complete in the fed bytes. Return their
 * number.
 */
static size_t walk(struct mprof_decoder *d, struct mprof_event *events, size_t n)
{
	struct walk w = {.at = d->in,
			 .end = d->in + smaller(d->left, d->content_left),
			 .offset = d->offset,
			 .latest = d->clock.latest};
	size_t done, used;

	if (d->clock.alone || !d->clock.latest)
		return 0;
	done = walk_events(&w, events, n);
	used = (size_t)(w.at - d->in);
	drop_fed(d, used);
	d->content_left -= (uint32_t)used;
	d->clock.latest = w.latest;
	if (done)
		resume_times_add(&d->times, events[done - 1].raw.timestamp);
	return done;
}

/*
 * If the next event is an `extra` that is complete in the fed bytes, take it. Return 1 if it gives out
 * an event, which is then in *EVENT; 0 if not; -1 if the next event is another one.
 */
static int walk_extra(struct mprof_decoder *d, struct mprof_event *event)
{
	size_t avail = smaller(d->left, d->content_left);

	if (avail < EXTRA_FIXED || d->in[8] != MPROF_EVENT_extra ||
	    mprof_event_load(&event->raw, d->in, avail) != MPROF_EVENT_OK || d->clock.alone || !d->clock.latest ||
	    mprof_times_doubt(d->clock.latest, event->raw.timestamp))
		return -1;
	note_time(d, event->raw.timestamp);
	event->offset = d->offset;
	d->content_left -= (uint32_t)event->raw.bytes;
	drop_fed(d, event->raw.bytes);
	return extras_take(&d->extras, &event->raw, &d->totals);
}

size_t mprof_decoder_batch(struct mprof_decoder *d, struct mprof_event *events, size_t n, enum mprof_status *status)
{
	size_t done = 1;
	int extra;

	/*
	 * Take the first event by the slow path, which opens packets and completes divided events.
	 */
	*status = mprof_decoder_next(d, events);
	if (*status != MPROF_OK)
		return 0;
	if (d->lent) /* later events would have another lifetime than this one: return it alone */
		return 1;
	while (done < n && d->content_left) {
		done += walk(d, events + done, n - done);
		extra = done < n ? walk_extra(d, events + done) : -1;
		if (extra < 0)
			break;
		done += (size_t)extra;
	}
	return done;
}
