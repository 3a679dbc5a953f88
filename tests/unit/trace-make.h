/* Packets and events for tests of the decoder and of the code above it. */
#ifndef UNIT_TRACE_MAKE_H
#define UNIT_TRACE_MAKE_H

#include <stdint.h>
#include <string.h>

#include <mprof/event.h>
#include <mprof/packet.h>

struct make {
	uint8_t bytes[1 << 20];
	size_t used;
	size_t packet; /* offset of the open packet in the stream */
};

static inline void make_bytes(struct make *m, const void *p, size_t n)
{
	memcpy(m->bytes + m->used, p, n);
	m->used += n;
}

static inline void make_u64(struct make *m, uint64_t v)
{
	mprof_store64(m->bytes + m->used, v);
	m->used += 8;
}

/* Open a packet. Call make_close before the next make_packet. */
static inline void make_packet(struct make *m)
{
	m->packet = m->used;
	memset(m->bytes + m->used, 0, MPROF_PACKET_HEADER_BYTES);
	m->used += MPROF_PACKET_HEADER_BYTES;
}

/* Close the packet with the count COUNT. Put PADDING bytes of 0xee behind its content. */
static inline void make_close(struct make *m, uint16_t count, size_t padding)
{
	struct mprof_packet_header h = {
		.count = count,
		.content_bytes = (uint32_t)(m->used - m->packet),
		.packet_bytes = (uint32_t)(m->used - m->packet + padding),
	};

	mprof_packet_store(&h, m->bytes + m->packet);
	memset(m->bytes + m->used, 0xee, padding);
	m->used += padding;
}

/* Write one event of the kind ID; the table of event shapes says which of the arguments it has. */
static inline void make_event(struct make *m, uint64_t timestamp, uint8_t id, int64_t context, int64_t number,
			      uint8_t type, const char *text)
{
	enum mprof_shape shape = mprof_event_shape(id);

	make_u64(m, timestamp);
	m->bytes[m->used++] = id;
	if (shape == MPROF_SHAPE_EXTRA) {
		/* A duration whose name is TEXT. */
		mprof_store16(m->bytes + m->used, (uint16_t)(8 + 8 + 4 + strlen(text) + 1));
		m->bytes[m->used + 2] = MPROF_EXTRA_DURATION;
		m->used += MPROF_EXTRA_HEADER_BYTES;
		make_u64(m, (uint64_t)context);
		make_u64(m, (uint64_t)number);
		make_bytes(m, "\0\0\0", 4);
		make_bytes(m, text, strlen(text) + 1);
		return;
	}
	if (mprof_event_has_context(id))
		make_u64(m, (uint64_t)context);
	if (shape != MPROF_SHAPE_NONE && shape != MPROF_SHAPE_TEXT)
		make_u64(m, (uint64_t)number);
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		m->bytes[m->used++] = type;
	if (shape == MPROF_SHAPE_TEXT || shape == MPROF_SHAPE_THREAD_TEXT || shape == MPROF_SHAPE_AMOUNT_TEXT)
		make_bytes(m, text, strlen(text) + 1);
}

/*
 * Write a packet with the count COUNT and PADDING bytes behind its one event, a `switch` to thread
 * NUMBER at the time NUMBER.
 */
static inline void make_numbered(struct make *m, uint16_t count, uint64_t number, size_t padding)
{
	make_packet(m);
	make_event(m, number, MPROF_EVENT_switch, (int64_t)number, 0, 0, NULL);
	make_close(m, count, padding);
}

#endif
