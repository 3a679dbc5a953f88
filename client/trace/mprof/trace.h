/*
 * libmprof: decode a trace. Bytes in, events out.
 *
 * The library does no I/O, takes the bytes in pieces of any size, and allocates memory in
 * proportion to the bytes given, never to a size that the input claims. Traces are untrusted:
 * damage is reported with packet, offset and reason. Behind a broken event, decoding continues where the
 * sizes of events lead exactly to the end of the packet (mprof_tail_resume() has the rule), and such events
 * are unproven; otherwise at the next packet.
 *
 *   d = mprof_decoder_new();
 *   while ((n = read(fd, buf, sizeof(buf))) > 0) {
 *           mprof_decoder_feed(d, buf, n);
 *           while ((status = mprof_decoder_next(d, &event)) != MPROF_MORE)
 *                   ...             // MPROF_OK: event; MPROF_CORRUPT: mprof_decoder_damage(d)
 *   }
 *   mprof_decoder_finish(d);
 *   while ((status = mprof_decoder_next(d, &event)) != MPROF_END)
 *           ...
 *
 * A decoder takes packets in the order in which they come. The daemon serves them in logical order;
 * the image of a wrapped ring is not in order, and struct mprof_order finds its order. The formats
 * of packets and events are in <mprof/packet.h> and <mprof/event.h>.
 *
 * No call is thread safe on one object; different objects share nothing.
 */
#ifndef MPROF_TRACE_H
#define MPROF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>
#include <mprof/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MPROF_API
#define MPROF_API __attribute__((visibility("default")))
#endif

/*
 * Largest event to decode, bytes. A longer one is damage. The limit bounds the memory for a string
 * that comes in pieces.
 */
#define MPROF_EVENT_BYTES_MAX (16u << 20)

enum mprof_status {
	MPROF_OK = 0,  /* a result is there */
	MPROF_MORE,    /* all bytes given so far are used: feed more, or finish */
	MPROF_END,     /* the input is finished and nothing is left */
	MPROF_CORRUPT, /* damage was skipped and described; the next call continues after it */
	MPROF_NOMEM,   /* no memory; nothing was consumed, and the call can be repeated */
};

/* One packet, from its header. */
struct mprof_packet {
	uint64_t index;	 /* number of the packet in the input, from 0; damaged packets are counted, too */
	uint64_t offset; /* offset of the packet's header, bytes from the start of the input */
	/*
	 * COUNT widened to 64 bits. Never falls; the pieces in which the daemon serves one packet
	 * have the same number.
	 */
	uint64_t sequence;
	uint32_t packet_bytes;	/* size of the packet, header included */
	uint32_t content_bytes; /* used part of the packet, header included */
	uint16_t count;		/* sequence number modulo 65,536 */
};

/*
 * A decoder resolves interned texts: it gives out a label or counter with its text, whatever its form in
 * the packet. An event with the id MPROF_EVENT_extra is a duration: `context` is the thread, `number` the
 * nanoseconds until the timestamp, `text` the name. After mprof_decoder_recorders() it can also be what
 * the writer of a packet declares of itself (mprof_event_is_recorder()), or a sample of a thread's state
 * (mprof_event_is_state()).
 */
struct mprof_event {
	/*
	 * Fields of the event. Its text is valid until the next call on the decoder, or as long as
	 * the fed bytes are, whichever is shorter.
	 */
	struct mprof_raw_event raw;
	uint64_t offset; /* position of the event's first byte in the input */
};

/*
 * Return whether RAW, which a decoder gave out, is the declaration of a packet's recorder and no event of
 * the program. `number` then is the dialect, plus the version shifted by 8 bits, plus the flags shifted by
 * 16 bits (mprof/ids.h says what they mean).
 */
static inline bool mprof_event_is_recorder(const struct mprof_raw_event *raw)
{
	return raw->id == MPROF_EVENT_extra && raw->type == MPROF_EXTRA_RECORDER;
}

/*
 * Return whether RAW, which a decoder gave out, is a sample of the system's view of the thread `context`, and no event of
 * the program. `number` is the processor time that the thread had used, ns, and `text` its state (MPROF_STATE in
 * mprof/events.def).
 */
static inline bool mprof_event_is_state(const struct mprof_raw_event *raw)
{
	return raw->id == MPROF_EVENT_extra && raw->type == MPROF_EXTRA_STATE;
}

/* Return whether RAW, which a decoder gave out, is an event of the program: no declaration and no sample. */
static inline bool mprof_event_is_program(const struct mprof_raw_event *raw)
{
	return !mprof_event_is_recorder(raw) && !mprof_event_is_state(raw);
}

/* Return whether an event that a decoder gives out with the type ID names a thread in `context`. */
static inline bool mprof_event_has_thread(uint8_t id)
{
	return mprof_event_has_context(id) || id == MPROF_EVENT_extra;
}

enum mprof_damage_reason {
	MPROF_DAMAGE_HEADER,	 /* no valid packet header: see the field header */
	MPROF_DAMAGE_UNKNOWN_ID, /* an unknown event id: see the field id */
	MPROF_DAMAGE_CUT_EVENT,	 /* the packet's content ends inside an event */
	MPROF_DAMAGE_LONG_EVENT, /* an event longer than MPROF_EVENT_BYTES_MAX */
	MPROF_DAMAGE_CUT_INPUT,	 /* the input ends inside a packet */
	/*
	 * In an s-expression log, a line that is no event. The field packet is the number of the
	 * line, from 0.
	 */
	MPROF_DAMAGE_LINE,
	MPROF_DAMAGE_TIME, /* the event's time contradicts those of the events before and behind it (schema/times.md) */
};

struct mprof_damage {
	enum mprof_damage_reason reason;
	uint64_t packet;		 /* index of the packet */
	uint64_t packet_offset;		 /* offset of the packet's header, bytes from the start of the input */
	uint64_t offset;		 /* position of the fault, bytes from the start of the input */
	uint64_t skipped;		 /* bytes skipped */
	uint64_t unproven;		 /* events of the packet behind the skipped bytes: the next ones that come */
	bool counted;			 /* the header is valid, and so COUNT */
	uint16_t count;			 /* the packet's sequence number modulo 65,536 */
	uint8_t id;			 /* the unknown id, for MPROF_DAMAGE_UNKNOWN_ID */
	enum mprof_packet_status header; /* what is wrong with the header, for MPROF_DAMAGE_HEADER */
};

struct mprof_decoder;

/* Return a decoder at the start of an input, or NULL without memory. */
MPROF_API struct mprof_decoder *mprof_decoder_new(void);
/* Free D, which may be NULL. Return NULL. */
MPROF_API struct mprof_decoder *mprof_decoder_free(struct mprof_decoder *d);

/* Give out the declarations of recorders and the states of threads, too, if WANTED. A new decoder skips them. */
MPROF_API void mprof_decoder_recorders(struct mprof_decoder *d, bool wanted);

/*
 * Restart D at a packet: the next fed bytes begin packet number INDEX at OFFSET of the input. The
 * totals and the widened sequence go on. A new decoder starts at 0 without this call.
 */
MPROF_API void mprof_decoder_begin(struct mprof_decoder *d, uint64_t offset, uint64_t index);

/*
 * Give D the next LEN bytes at BYTES. Call this function first, and then only when
 * mprof_decoder_next() has returned MPROF_MORE: an earlier call would lose bytes not yet used. The
 * bytes must not change until mprof_decoder_next() returns MPROF_MORE or MPROF_END.
 */
MPROF_API void mprof_decoder_feed(struct mprof_decoder *d, const void *bytes, size_t len);

/*
 * End the input. From now on mprof_decoder_next() returns MPROF_END instead of MPROF_MORE. If the
 * last packet is incomplete, it first returns MPROF_CORRUPT.
 */
MPROF_API void mprof_decoder_finish(struct mprof_decoder *d);

/*
 * Store the next event in *EVENT and return MPROF_OK. For any other status (enum mprof_status)
 * *EVENT is undefined.
 */
MPROF_API enum mprof_status mprof_decoder_next(struct mprof_decoder *d, struct mprof_event *event);

/*
 * Store the next events in EVENTS: at most N (1 or more), all of one packet. Return their number,
 * with *STATUS MPROF_OK. If there is none, return 0, with *STATUS what mprof_decoder_next() would
 * return. Events, damage and the lifetime of texts are those of mprof_decoder_next(); one call
 * costs less than N calls of that.
 */
MPROF_API size_t mprof_decoder_batch(struct mprof_decoder *d, struct mprof_event *events, size_t n,
				     enum mprof_status *status);

/*
 * Return the packet of the last event. Call it only after an MPROF_OK. D owns the packet, and
 * overwrites it at the next packet.
 */
MPROF_API const struct mprof_packet *mprof_decoder_packet(const struct mprof_decoder *d);
/* Return the damage of the last MPROF_CORRUPT. Valid until the next event is asked for. */
MPROF_API const struct mprof_damage *mprof_decoder_damage(const struct mprof_decoder *d);

/* Counts of a decoder, over all inputs that it began. */
struct mprof_totals {
	uint64_t packets; /* packets with a valid header, empty ones and continuations included */
	/*
	 * Number of packets that are missing, by the counts of the packets that are there. A count
	 * that goes back begins another trace and is no loss.
	 */
	uint64_t lost_packets;
	uint64_t damages;
	uint64_t skipped; /* bytes skipped because of damage */
	/*
	 * Events behind a broken one in its packet. Their sizes lead to the packet's end, but nothing proves that
	 * they begin where they were found. Interned texts and other events `extra` count, too.
	 */
	uint64_t unproven;
	/*
	 * Uses of interned texts that their packets do not have, because bytes before were lost or the
	 * reading began behind them. Such a text is `#` and its number.
	 */
	uint64_t unknown_texts;
	/*
	 * STEPS is how often the clock went back; STEP_NS, by how much at most, ns; and STEP_AT, from which time it did that, ns
	 * (schema/times.md).
	 */
	uint64_t steps, step_at, step_ns;
	uint64_t skipped_extras; /* events `extra` of a kind that this version does not know, or damaged ones */
};

/* Return the totals so far. D owns them and updates them in place. */
MPROF_API const struct mprof_totals *mprof_decoder_totals(const struct mprof_decoder *d);

/*
 * Write DAMAGE as a sentence without a full stop into BUF of SIZE bytes, terminated by a NUL and
 * cut to fit; 256 bytes suffice. Return the length of the text in BUF.
 */
MPROF_API size_t mprof_damage_text(const struct mprof_damage *damage, char *buf, size_t size);

/*
 * Decoder of the logs that the recorder of 2014 wrote. They have no packets, but lines such as
 * `((time 8249.521319)(op(Creates 0 1 Task)))`. The calls are those of a decoder of packets. A line
 * that is no event is damage of that line only. A thread without a type has MPROF_THREAD_UNKNOWN.
 */
struct mprof_sexp;

/* Return true when an input that begins with LEN bytes at BYTES looks like such a log. */
MPROF_API bool mprof_sexp_begins(const void *bytes, size_t len);
/* Return a decoder, or NULL without memory. */
MPROF_API struct mprof_sexp *mprof_sexp_new(void);
/* Free S, which may be NULL. Return NULL. */
MPROF_API struct mprof_sexp *mprof_sexp_free(struct mprof_sexp *s);
/*
 * As mprof_decoder_feed(), mprof_decoder_finish(), mprof_decoder_next() and mprof_decoder_damage().
 */
MPROF_API void mprof_sexp_feed(struct mprof_sexp *s, const void *bytes, size_t len);
MPROF_API void mprof_sexp_finish(struct mprof_sexp *s);
MPROF_API enum mprof_status mprof_sexp_next(struct mprof_sexp *s, struct mprof_event *event);
MPROF_API const struct mprof_damage *mprof_sexp_damage(const struct mprof_sexp *s);

/*
 * A part of an input: one or more packets, and the bytes behind the last of them up to the next
 * packet.
 */
struct mprof_span {
	uint64_t offset; /* bytes from the start of the input */
	uint64_t bytes;
	uint64_t packet; /* index in the input of the span's first packet */
};

struct mprof_order;

/*
 * mprof_order_new() returns a new object of about 40 KiB, or NULL without memory.
 * mprof_order_free() frees O, which may be NULL, and returns NULL.
 */
MPROF_API struct mprof_order *mprof_order_new(void);
MPROF_API struct mprof_order *mprof_order_free(struct mprof_order *o);

/*
 * Find the logical order of a whole input, the LEN bytes at BYTES, from its packet headers. Only
 * the image of a wrapped ring (at most MPROF_RING_PACKETS_MAX packets) is reordered; order.c has
 * the rule. BYTES are used during the call only. The call cannot fail.
 */
MPROF_API void mprof_order_scan(struct mprof_order *o, const void *bytes, size_t len);
/*
 * mprof_order_spans() returns the number of spans in logical order; together the spans are the
 * whole input. mprof_order_span() returns span I, which must be below that number; O owns it until
 * the next scan. Decode the spans in this order: for each call mprof_decoder_begin(), feed its
 * bytes, and go on until MPROF_END.
 */
MPROF_API size_t mprof_order_spans(const struct mprof_order *o);
MPROF_API const struct mprof_span *mprof_order_span(const struct mprof_order *o, size_t i);

/*
 * Return true when an input that begins with the LEN bytes at BYTES was served by the daemon: its
 * first packet is cut to its content. Such an input is in logical order, so its events can be
 * decoded as the bytes arrive.
 */
MPROF_API bool mprof_order_served(const void *bytes, size_t len);

/* Bytes of a buffer for any event as text or JSON without its string. */
#define MPROF_TEXT_FIXED_MAX 256u
/* Largest number of bytes that one byte of a string becomes when it is escaped as text or JSON. */
#define MPROF_TEXT_FACTOR 6u

/*
 * Write E as `SECONDS.NANOSECONDS NAME key=value …` into LINE of MPROF_TEXT_FIXED_MAX bytes, not
 * terminated. Return the length. If E has a string, the line ends in the string's opening quote:
 * append the string by mprof_text_escape(), then the closing quote.
 */
MPROF_API size_t mprof_event_text(const struct mprof_raw_event *e, char *line);
/*
 * Write E as a JSON object into LINE, as mprof_event_text() does: up to the string's opening quote,
 * or up to the closing brace if E has no string.
 */
MPROF_API size_t mprof_event_json(const struct mprof_raw_event *e, char *line);
/*
 * Return the key that names E's string in the text and in the JSON object; NULL if E has no string.
 */
MPROF_API const char *mprof_event_text_key(const struct mprof_raw_event *e);

/*
 * Escape as much of the *LEFT bytes at *TEXT as fits into OUT of ROOM bytes (32 or more). Advance
 * *TEXT and reduce *LEFT by the bytes used. Return the number of bytes written. Call it again while
 * *LEFT is not 0. Printable UTF-8 is copied; a quote and a backslash get a backslash before them;
 * any other byte becomes \xNN, its value in hexadecimal. text.c defines printable.
 */
MPROF_API size_t mprof_text_escape(char *out, size_t room, const char **text, size_t *left);
/*
 * As mprof_text_escape(), but for text that is not in quotes: quotes and backslashes are copied as
 * they are.
 */
MPROF_API size_t mprof_text_show(char *out, size_t room, const char **text, size_t *left);
/*
 * As mprof_text_escape(), but for a JSON string: an unprintable character becomes \uNNNN, and a
 * byte that is not UTF-8 becomes the replacement character U+FFFD.
 */
MPROF_API size_t mprof_text_json(char *out, size_t room, const char **text, size_t *left);
/* Return true when all LEN bytes of TEXT are UTF-8: then mprof_text_json() loses nothing. */
MPROF_API bool mprof_text_is_utf8(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
