/*
 * Fuzz the parser of packet headers, and the walk over an unproven tail. The input is a packet; a
 * part of it also serves as the bytes of the packet's previous incarnation.
 */
#include <stdint.h>
#include <stdlib.h>

#include <mprof/event.h>
#include <mprof/packet.h>

#include "fuzz.h"

static void check_header(const uint8_t *data, size_t size)
{
	uint8_t copy[MPROF_PACKET_HEADER_BYTES];
	struct mprof_packet_header h, again;
	enum mprof_packet_status status = mprof_packet_load(&h, data, size);

	require(mprof_packet_status_text(status)[0] != '\0');
	if (status != MPROF_PACKET_OK)
		return;
	require(size >= sizeof(copy) && mprof_packet_content_ok(h.content_bytes, h.packet_bytes));
	mprof_packet_store(&h, copy);
	require(memcmp(copy, data, sizeof(copy)) == 0);
	require(mprof_packet_load(&again, copy, sizeof(copy)) == MPROF_PACKET_OK);
	require(again.content_bytes == h.content_bytes && again.packet_bytes == h.packet_bytes);
	require(mprof_sequence_after(h.packet_bytes, h.count) - h.packet_bytes <= UINT16_MAX);
}

/*
 * Check that the bytes that the walk accepts are whole events, none earlier than its packet's first or later than the
 * copy, and that the walk accepts the same bytes without those behind them.
 */
static void check_tail(const struct mprof_tail *tail, const uint8_t *p, size_t len)
{
	size_t holds = mprof_tail_walk(tail, p, len), at = 0;
	uint64_t first = tail->not_before;
	struct mprof_raw_event e;

	require(holds <= len);
	while (at < holds) {
		require(mprof_event_load(&e, p + at, holds - at) == MPROF_EVENT_OK && e.bytes > 0);
		require(e.timestamp >= first && e.timestamp <= tail->not_after);
		require(!tail->before || at + e.bytes > tail->before_bytes ||
			memcmp(p + at, tail->before + at, e.bytes) != 0);
		if (at == 0 && tail->begins)
			first = e.timestamp;
		at += e.bytes;
	}
	require(at == holds && mprof_tail_walk(tail, p, holds) == holds);
}

/*
 * Check that events go on, if they do, behind the invalid one, that their sizes lead to the end, that they are
 * in order and not stale, and that the search for them reads no more than a multiple of the bytes.
 */
static void check_resume(struct mprof_tail tail, const uint8_t *p, size_t len)
{
	struct mprof_tail_search search = {.tail = &tail, .p = p, .len = len, .work = 16 * len + 65536};
	size_t most = search.work, holds, at;
	uint64_t newest = 0, time;
	struct mprof_raw_event e;
	unsigned events = 0;

	holds = mprof_tail_walk_times(&tail, p, len, &newest);
	tail.settled = true;
	tail.earlier = len ? p[0] : 0;
	at = mprof_tail_resume(&tail, p, len, holds, newest);
	require(at <= len && (at == len || at > holds));
	require(holds == len || mprof_tail_chain(&search, holds, newest) <= len);
	require(search.work <= most);
	for (time = at == len ? 0 : mprof_load64(p + at); at < len; at += e.bytes, events++) {
		require(mprof_event_load(&e, p + at, len - at) == MPROF_EVENT_OK && e.timestamp <= tail.not_after);
		require(e.timestamp >= time || time - e.timestamp <= MPROF_RESUME_BACK);
		require(e.timestamp >= newest || newest - e.timestamp <= MPROF_RESUME_BACK);
		require(!tail.before || at + e.bytes > tail.before_bytes ||
			memcmp(p + at, tail.before + at, e.bytes) != 0);
		if (time < e.timestamp)
			time = e.timestamp;
	}
	require(at == len && (events == 0 || events >= MPROF_RESUME_EVENTS));
	tail.settled = false;
	require(tail.before_bytes >= len || holds == len || mprof_tail_resume(&tail, p, len, holds, newest) == len);
}

/* Check the walk over a tail, and what is found behind its first invalid event. */
static void check(const struct mprof_tail *tail, const uint8_t *p, size_t len)
{
	check_tail(tail, p, len);
	check_resume(*tail, p, len);
}

/* Put the input between events of one packet: those behind it are found again, or none. */
static void check_damaged(const uint8_t *data, size_t size)
{
	enum { EVENT = 17, EVENTS = 8 };
	const struct mprof_tail tail = {.not_before = 1000000, .not_after = 1u << 30};
	size_t hole = size < 4096 ? size : 4096, len = hole + 2 * (size_t)EVENTS * EVENT;
	uint8_t *p = calloc(1, len), *to = p;

	require(p != NULL);
	for (uint64_t i = 0; i < 2 * EVENTS; i++, to += EVENT) {
		if (i == EVENTS)
			to = (uint8_t *)memcpy(to, data, hole) + hole;
		mprof_store64(to, 1000000 + i);
		to[8] = MPROF_EVENT_switch;
	}
	check(&tail, p, len);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mprof_tail tail = {.not_after = UINT64_MAX};

	check_header(data, size);
	if (size <= MPROF_PACKET_HEADER_BYTES)
		return 0;
	data += MPROF_PACKET_HEADER_BYTES;
	size -= MPROF_PACKET_HEADER_BYTES;
	check(&tail, data, size);
	/* Use bytes from the middle of the input as the previous incarnation's bytes. */
	tail.before = data + size / 2;
	tail.before_bytes = size - size / 2;
	check(&tail, data, size);
	tail.before = data;
	require(tail.before_bytes <= 8 || mprof_tail_walk(&tail, data, tail.before_bytes) == 0);
	tail = (struct mprof_tail){.not_before = 1000000, .not_after = 2000000};
	check(&tail, data, size);
	tail.begins = true;
	check(&tail, data, size);
	/* Damage an event in the middle of many good ones. */
	check_damaged(data, size);
	return 0;
}
