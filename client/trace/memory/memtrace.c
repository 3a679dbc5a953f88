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

struct mprof_mem *mprof_mem_free(struct mprof_mem *m)
{
	if (!m)
		return NULL;
	mem_info_forget(m);
	free(m->held);
	free(m);
	return NULL;
}

void mprof_mem_feed(struct mprof_mem *m, const void *bytes, size_t len)
{
	m->fed = (struct mem_bytes){bytes, (const uint8_t *)bytes + len};
	m->totals.bytes += len;
}

void mprof_mem_finish(struct mprof_mem *m)
{
	m->finished = true;
}

/*
 * Return the next N bytes in one piece, without consuming them; NULL while fewer bytes are there.
 */
static const uint8_t *peek(struct mprof_mem *m, size_t n)
{
	size_t more;

	if (!m->n_held && mem_has(&m->fed, n))
		return m->fed.at;
	if (m->n_held < n && m->fed.at) {
		more = (size_t)(m->fed.end - m->fed.at);
		more = more < n - m->n_held ? more : n - m->n_held;
		memcpy(m->held + m->n_held, m->fed.at, more);
		m->n_held += more;
		m->fed.at += more;
	}
	return m->n_held >= n ? m->held : NULL;
}

static void take(struct mprof_mem *m, size_t n)
{
	m->offset += n;
	if (!m->n_held) {
		m->fed.at += n;
		return;
	}
	m->n_held -= n;
	if (m->n_held && m->held)
		memmove(m->held, m->held + n, m->n_held);
}

/* Skip at least one byte, up to the next byte at which a packet could begin. */
static void search(struct mprof_mem *m)
{
	const uint8_t *from = m->n_held ? m->held : m->fed.at;
	size_t n = m->n_held ? m->n_held : (size_t)(m->fed.end - m->fed.at);
	const uint8_t *found = memchr(from + 1, 0xc1, n - 1);
	size_t passed = found ? (size_t)(found - from) : n;

	m->searching += passed;
	take(m, passed);
}

static enum mprof_status damaged(struct mprof_mem *m, enum mprof_mem_damage_reason reason, uint64_t packet,
				 uint64_t offset, uint64_t skipped)
{
	m->damage = (struct mprof_mem_damage){
		.reason = reason,
		.packet = m->totals.packets,
		.packet_offset = packet,
		.offset = offset,
		.skipped = skipped,
		.domain = m->open ? m->packet.domain : 0,
	};
	m->totals.damages++;
	m->totals.skipped += skipped;
	return MPROF_CORRUPT;
}

enum mprof_status mem_damaged(struct mprof_mem *m, enum mprof_mem_damage_reason reason, const uint8_t *at,
			      uint64_t skipped)
{
	return damaged(m, reason, m->offset, m->offset + (uint64_t)(at - m->bytes), skipped);
}

/* Report the bytes that search() skipped. Return MPROF_CORRUPT. */
static enum mprof_status search_report(struct mprof_mem *m)
{
	uint64_t passed = m->searching;

	m->searching = 0;
	return damaged(m, MPROF_MEM_DAMAGE_HEADER, m->offset - passed, m->offset - passed, passed);
}

/*
 * Handle the end of the fed bytes. After the end of the input, bytes that are left are a part of a
 * packet: report them.
 */
static enum mprof_status input_ends(struct mprof_mem *m)
{
	size_t left = m->n_held;

	if (!m->finished)
		return MPROF_MORE;
	if (m->searching) {
		take(m, left);
		m->searching += left;
		return search_report(m);
	}
	if (!left)
		return MPROF_END;
	take(m, left);
	return damaged(m, MPROF_MEM_DAMAGE_CUT, m->offset - left, m->offset, left);
}

static void packet_close(struct mprof_mem *m)
{
	take(m, m->packet.bytes);
	m->totals.packets++;
	m->open = false;
}

/*
 * Open the next packet when all of it is there. Return MPROF_OK, or another status of
 * mprof_mem_next().
 */
static enum mprof_status packet_open(struct mprof_mem *m)
{
	const uint8_t *bytes;

	for (;;) {
		bytes = peek(m, MEM_PACKET_HEAD);
		if (!bytes)
			return input_ends(m);
		if (mem_packet_head(&m->packet, bytes))
			break;
		search(m);
	}
	if (m->searching)
		return search_report(m);
	bytes = peek(m, m->packet.bytes);
	if (!bytes)
		return input_ends(m);
	mem_packet_read(&m->packet, bytes);
	m->bytes = bytes;
	m->rest = (struct mem_bytes){bytes + m->packet.header, bytes + m->packet.bytes};
	m->open = true;
	return MPROF_OK;
}

/* Skip the open packet. */
static void packet_skip(struct mprof_mem *m)
{
	m->rest.at = m->rest.end;
	m->next_id = m->packet.end_id;
	m->domain = NULL;
}

/*
 * The open packet begins a recording: begin it, or skip it if another recording was chosen. Return
 * as packet_judge().
 */
static enum mprof_status recording_begins(struct mprof_mem *m, struct mprof_mem_event *event)
{
	uint64_t wanted = m->options.recording, number = m->totals.recordings + 1;
	enum mprof_status r = MPROF_MORE;

	packet_skip(m);
	m->over = wanted && number > wanted;
	if (!wanted || number == wanted)
		r = mem_info_read(m);
	if (r != MPROF_NOMEM)
		m->totals.recordings = number;
	if (r == MPROF_OK)
		*event = (struct mprof_mem_event){.kind = MPROF_MEM_BEGIN, .time_us = m->info.start_us};
	return r;
}

/*
 * Decide what to do with the packet just opened. Return MPROF_OK with an event in *EVENT;
 * MPROF_MORE when the events of the packet come next (a skipped packet has none); MPROF_CORRUPT; or
 * MPROF_NOMEM.
 */
static enum mprof_status packet_judge(struct mprof_mem *m, struct mprof_mem_event *event)
{
	enum mprof_status r;

	if (mem_info_is(m))
		return recording_begins(m, event);
	if (m->totals.recordings < m->options.recording) {
		packet_skip(m);
		return MPROF_MORE;
	}
	if (!m->has_info || m->unreadable) {
		r = mem_damaged(m, MPROF_MEM_DAMAGE_NO_INFO, m->bytes, m->packet.bytes);
	} else if (m->packet.pid != m->info.pid || m->packet.version != m->info.version) {
		m->totals.foreign++;
		r = mem_damaged(m, MPROF_MEM_DAMAGE_FOREIGN, m->bytes, m->packet.bytes);
	} else {
		r = mem_events_begin(m);
		return r ? r : MPROF_MORE;
	}
	packet_skip(m);
	return r;
}

/* Skip all bytes: the chosen recording has ended. Return MPROF_END or MPROF_MORE. */
static enum mprof_status rest_skip(struct mprof_mem *m)
{
	m->open = false;
	take(m, m->n_held);
	take(m, (size_t)(m->fed.end - m->fed.at));
	return m->finished ? MPROF_END : MPROF_MORE;
}

enum mprof_status mprof_mem_next(struct mprof_mem *m, struct mprof_mem_event *event)
{
	enum mprof_status r;

	for (;;) {
		if (m->over)
			return rest_skip(m);
		if (!m->open) {
			r = packet_open(m);
			r = r ? r : packet_judge(m, event);
			if (r == MPROF_NOMEM)
				m->open = false; /* no memory: the next call opens the same packet again */
			if (r != MPROF_MORE || !m->open)
				return r;
		}
		r = mem_events_next(m, event);
		if (r != MPROF_END)
			return r;
		packet_close(m);
	}
}

double mprof_mem_scale(const struct mprof_mem *m)
{
	const struct mprof_mem_info *info = mprof_mem_info(m);
	double scale = info ? info->word_bytes / info->rate : 0;

	return scale < MPROF_MEM_SCALE_MAX ? scale : MPROF_MEM_SCALE_MAX;
}

const struct mprof_mem_info *mprof_mem_info(const struct mprof_mem *m)
{
	return m->has_info ? &m->info : NULL;
}

const struct mprof_mem_damage *mprof_mem_damage(const struct mprof_mem *m)
{
	return &m->damage;
}

const struct mprof_mem_totals *mprof_mem_totals(const struct mprof_mem *m)
{
	return &m->totals;
}

uint32_t mprof_mem_codes(const struct mprof_mem *m)
{
	return m->has_codes ? m->codes.list.n : 0;
}

const struct mprof_mem_code *mprof_mem_code(const struct mprof_mem *m, uint32_t i)
{
	return (const struct mprof_mem_code *)m->codes.list.items + i;
}

const struct mprof_mem_location *mprof_mem_location(const struct mprof_mem *m, uint32_t i)
{
	return (const struct mprof_mem_location *)m->codes.locations.items + i;
}

uint32_t mprof_mem_locations(const struct mprof_mem *m)
{
	return m->has_codes ? m->codes.locations.n : 0;
}

uint32_t mprof_mem_strings(const struct mprof_mem *m)
{
	return m->has_codes ? m->codes.names.list.n : 0;
}

const char *mprof_mem_string(const struct mprof_mem *m, uint32_t i, size_t *bytes)
{
	*bytes = intern_at(&m->codes.names, i)->bytes;
	/* If all names are empty, the arena is NULL: return an empty text instead. */
	return *bytes ? intern_text(&m->codes.names, i) : "";
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
