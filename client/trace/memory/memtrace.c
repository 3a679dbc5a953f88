/*
 * Decoder of memtrace streams: bytes in pieces of any size to packets.
 *
 * A packet is read when it is complete: in place when the fed bytes hold it in one piece, else in a
 * copy of at most 256 KiB. Bytes that are no packet are skipped up to the next packet.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/memtrace.h>

#include "mem-decoder.h"

/* ---- headers ---- */

/*
 * Packet headers. The header says where everything else of a packet is, so a packet with an
 * implausible header is rejected.
 */

#define MAGIC 0xc1fc1fc1u

bool mem_packet_head(struct mem_packet *packet, const uint8_t *head)
{
	uint32_t bits = mprof_load32(head + 4);

	packet->version = mprof_load16(head + 28);
	packet->header = packet->version < 3 ? 66 : 68;
	packet->bytes = bits / 8;
	return mprof_load32(head) == MAGIC && bits % 8 == 0 && packet->version >= 1 && packet->version <= 3 &&
	       packet->bytes >= packet->header && packet->bytes <= MPROF_MEM_PACKET_BYTES_MAX;
}

void mem_packet_read(struct mem_packet *packet, const uint8_t *bytes)
{
	const uint8_t *rest = bytes + packet->header - 28;

	packet->begin_us = mprof_load64(bytes + 8);
	packet->end_us = mprof_load64(bytes + 16);
	packet->pid = (int64_t)mprof_load64(bytes + 30);
	packet->domain = packet->version < 3 ? 0 : mprof_load16(bytes + 38);
	packet->check_bucket = mprof_load16(rest);
	packet->check_next = mprof_load16(rest + 2);
	packet->check_code = mprof_load64(rest + 4);
	packet->first_id = mprof_load64(rest + 12);
	packet->end_id = mprof_load64(rest + 20);
}

bool mprof_mem_begins(const void *bytes, size_t len)
{
	struct mem_packet packet;

	return len >= MEM_PACKET_HEAD && mem_packet_head(&packet, bytes);
}

/* ---- the decoder ---- */

struct mprof_mem *mprof_mem_new(const struct mprof_mem_options *options)
{
	struct mprof_mem *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->options = *options;
	d->other.no_names = true;
	d->held = malloc(MPROF_MEM_PACKET_BYTES_MAX);
	return d->held ? d : mprof_mem_free(d);
}

struct mprof_mem *mprof_mem_free(struct mprof_mem *d)
{
	if (!d)
		return NULL;
	mem_info_forget(d);
	free(d->held);
	free(d);
	return NULL;
}

void mprof_mem_feed(struct mprof_mem *d, const void *bytes, size_t len)
{
	d->fed = (struct mem_bytes){bytes, (const uint8_t *)bytes + len};
	d->totals.bytes += len;
}

void mprof_mem_finish(struct mprof_mem *d)
{
	d->finished = true;
}

/*
 * Return the next N bytes in one piece, without consuming them; NULL while fewer bytes are there.
 */
static const uint8_t *peek(struct mprof_mem *d, size_t n)
{
	size_t more;

	if (!d->n_held && mem_has(&d->fed, n))
		return d->fed.at;
	if (d->n_held < n && d->fed.at) {
		more = (size_t)(d->fed.end - d->fed.at);
		more = more < n - d->n_held ? more : n - d->n_held;
		memcpy(d->held + d->n_held, d->fed.at, more);
		d->n_held += more;
		d->fed.at += more;
	}
	return d->n_held >= n ? d->held : NULL;
}

static void take(struct mprof_mem *d, size_t n)
{
	d->offset += n;
	if (!d->n_held) {
		d->fed.at += n;
		return;
	}
	d->n_held -= n;
	if (d->n_held && d->held)
		memmove(d->held, d->held + n, d->n_held);
}

/* Skip at least one byte, up to the next byte at which a packet could begin. */
static void search(struct mprof_mem *d)
{
	const uint8_t *from = d->n_held ? d->held : d->fed.at;
	size_t n = d->n_held ? d->n_held : (size_t)(d->fed.end - d->fed.at);
	const uint8_t *found = memchr(from + 1, 0xc1, n - 1);
	size_t passed = found ? (size_t)(found - from) : n;

	d->searching += passed;
	take(d, passed);
}

static enum mprof_status damaged(struct mprof_mem *d, enum mprof_mem_damage_reason reason, uint64_t packet,
				 uint64_t offset, uint64_t skipped)
{
	d->damage = (struct mprof_mem_damage){
		.reason = reason,
		.packet = d->totals.packets,
		.packet_offset = packet,
		.offset = offset,
		.skipped = skipped,
		.domain = d->open ? d->packet.domain : 0,
	};
	d->totals.damages++;
	d->totals.skipped += skipped;
	return MPROF_CORRUPT;
}

enum mprof_status mem_damaged(struct mprof_mem *d, enum mprof_mem_damage_reason reason, const uint8_t *at,
			      uint64_t skipped)
{
	return damaged(d, reason, d->offset, d->offset + (uint64_t)(at - d->bytes), skipped);
}

/* Report the bytes that search() skipped. Return MPROF_CORRUPT. */
static enum mprof_status search_report(struct mprof_mem *d)
{
	uint64_t passed = d->searching;

	d->searching = 0;
	return damaged(d, MPROF_MEM_DAMAGE_HEADER, d->offset - passed, d->offset - passed, passed);
}

/*
 * Handle the end of the fed bytes. After the end of the input, bytes that are left are a part of a
 * packet: report them.
 */
static enum mprof_status input_ends(struct mprof_mem *d)
{
	size_t left = d->n_held;

	if (!d->finished)
		return MPROF_MORE;
	if (d->searching) {
		take(d, left);
		d->searching += left;
		return search_report(d);
	}
	if (!left)
		return MPROF_END;
	take(d, left);
	return damaged(d, MPROF_MEM_DAMAGE_CUT, d->offset - left, d->offset, left);
}

static void packet_close(struct mprof_mem *d)
{
	take(d, d->packet.bytes);
	d->totals.packets++;
	d->open = false;
}

/*
 * Open the next packet when all of it is there. Return MPROF_OK, or another status of
 * mprof_mem_next().
 */
static enum mprof_status packet_open(struct mprof_mem *d)
{
	const uint8_t *bytes;

	for (;;) {
		bytes = peek(d, MEM_PACKET_HEAD);
		if (!bytes)
			return input_ends(d);
		if (mem_packet_head(&d->packet, bytes))
			break;
		search(d);
	}
	if (d->searching)
		return search_report(d);
	bytes = peek(d, d->packet.bytes);
	if (!bytes)
		return input_ends(d);
	mem_packet_read(&d->packet, bytes);
	d->bytes = bytes;
	d->rest = (struct mem_bytes){bytes + d->packet.header, bytes + d->packet.bytes};
	d->open = true;
	return MPROF_OK;
}

/* Skip the open packet. */
static void packet_skip(struct mprof_mem *d)
{
	d->rest.at = d->rest.end;
	d->next_id = d->packet.end_id;
	d->domain = NULL;
}

/*
 * The open packet begins a recording: begin it, or skip it if another recording was chosen. Return
 * as packet_judge().
 */
static enum mprof_status recording_begins(struct mprof_mem *d, struct mprof_mem_event *event)
{
	uint64_t wanted = d->options.recording, number = d->totals.recordings + 1;
	enum mprof_status r = MPROF_MORE;

	packet_skip(d);
	d->over = wanted && number > wanted;
	if (!wanted || number == wanted)
		r = mem_info_read(d);
	if (r != MPROF_NOMEM)
		d->totals.recordings = number;
	if (r == MPROF_OK)
		*event = (struct mprof_mem_event){.kind = MPROF_MEM_BEGIN, .time_us = d->info.start_us};
	return r;
}

/*
 * Decide what to do with the packet just opened. Return MPROF_OK with an event in *EVENT;
 * MPROF_MORE when the events of the packet come next (a skipped packet has none); MPROF_CORRUPT; or
 * MPROF_NOMEM.
 */
static enum mprof_status packet_judge(struct mprof_mem *d, struct mprof_mem_event *event)
{
	enum mprof_status r;

	if (mem_info_is(d))
		return recording_begins(d, event);
	if (d->totals.recordings < d->options.recording) {
		packet_skip(d);
		return MPROF_MORE;
	}
	if (!d->has_info || d->unreadable) {
		r = mem_damaged(d, MPROF_MEM_DAMAGE_NO_INFO, d->bytes, d->packet.bytes);
	} else if (d->packet.pid != d->info.pid || d->packet.version != d->info.version) {
		d->totals.foreign++;
		r = mem_damaged(d, MPROF_MEM_DAMAGE_FOREIGN, d->bytes, d->packet.bytes);
	} else {
		r = mem_events_begin(d);
		return r ? r : MPROF_MORE;
	}
	packet_skip(d);
	return r;
}

/* Skip all bytes: the chosen recording has ended. Return MPROF_END or MPROF_MORE. */
static enum mprof_status rest_skip(struct mprof_mem *d)
{
	d->open = false;
	take(d, d->n_held);
	take(d, (size_t)(d->fed.end - d->fed.at));
	return d->finished ? MPROF_END : MPROF_MORE;
}

enum mprof_status mprof_mem_next(struct mprof_mem *d, struct mprof_mem_event *event)
{
	enum mprof_status r;

	for (;;) {
		if (d->over)
			return rest_skip(d);
		if (!d->open) {
			r = packet_open(d);
			r = r ? r : packet_judge(d, event);
			if (r == MPROF_NOMEM)
				d->open = false; /* no memory: the next call opens the same packet again */
			if (r != MPROF_MORE || !d->open)
				return r;
		}
		r = mem_events_next(d, event);
		if (r != MPROF_END)
			return r;
		packet_close(d);
	}
}

const struct mprof_mem_info *mprof_mem_info(const struct mprof_mem *d)
{
	return d->has_info ? &d->info : NULL;
}

const struct mprof_mem_damage *mprof_mem_damage(const struct mprof_mem *d)
{
	return &d->damage;
}

const struct mprof_mem_totals *mprof_mem_totals(const struct mprof_mem *d)
{
	return &d->totals;
}

uint32_t mprof_mem_codes(const struct mprof_mem *d)
{
	return d->has_codes ? d->codes.list.n : 0;
}

const struct mprof_mem_code *mprof_mem_code(const struct mprof_mem *d, uint32_t i)
{
	return (const struct mprof_mem_code *)d->codes.list.items + i;
}

const struct mprof_mem_location *mprof_mem_location(const struct mprof_mem *d, uint32_t i)
{
	return (const struct mprof_mem_location *)d->codes.locations.items + i;
}

uint32_t mprof_mem_locations(const struct mprof_mem *d)
{
	return d->has_codes ? d->codes.locations.n : 0;
}

uint32_t mprof_mem_strings(const struct mprof_mem *d)
{
	return d->has_codes ? d->codes.names.list.n : 0;
}

const char *mprof_mem_string(const struct mprof_mem *d, uint32_t i, size_t *bytes)
{
	*bytes = intern_at(&d->codes.names, i)->bytes;
	/* If all names are empty, the arena is NULL: return an empty text instead. */
	return *bytes ? intern_text(&d->codes.names, i) : "";
}

/* ---- damage ---- */

/* Sentences for damage. */

static const char *const reasons[] = {
	[MPROF_MEM_DAMAGE_HEADER] = "no packet header",
	[MPROF_MEM_DAMAGE_FOREIGN] = "a packet of another process",
	[MPROF_MEM_DAMAGE_NO_INFO] = "a packet before the description of the trace",
	[MPROF_MEM_DAMAGE_INFO] = "an invalid description of the trace",
	[MPROF_MEM_DAMAGE_EVENT] = "an invalid event",
	[MPROF_MEM_DAMAGE_NAMES] =
		"a table of names is damaged, so further places in the source stay without their names",
	[MPROF_MEM_DAMAGE_STACKS] = "bytes are missing before it, so further stacks are unknown",
	[MPROF_MEM_DAMAGE_IDS] = "more or fewer allocations than its header says",
	[MPROF_MEM_DAMAGE_CUT] = "the input ends inside the packet",
};

size_t mprof_mem_damage_text(const struct mprof_mem_damage *damage, char *buf, size_t size)
{
	int n = snprintf(
		buf, size, "packet %" PRIu64 " at byte %" PRIu64 ": %s, at byte %" PRIu64 "; %" PRIu64 " bytes skipped",
		damage->packet, damage->packet_offset, reasons[damage->reason], damage->offset, damage->skipped);

	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}
