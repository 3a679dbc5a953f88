/*
 * libmprof: bytes of a trace in, events out.
 *
 * The library does no I/O of any kind, takes the bytes in any cut, and allocates only in proportion to what it was
 * given, never to what the input says of itself.  Everything in a trace is hostile: damage is reported with packet, offset and
 * reason, the rest of the damaged packet is skipped, and decoding goes on at the next packet.
 *
 *   d = mprof_decoder_new();
 *   while ((n = read(fd, buf, sizeof(buf))) > 0) {
 *           mprof_decoder_feed(d, buf, n);
 *           while ((status = mprof_decoder_next(d, &event)) != MPROF_MORE)
 *                   ...                       // MPROF_OK: event; MPROF_CORRUPT: mprof_decoder_damage(d)
 *   }
 *   mprof_decoder_finish(d);
 *   while ((status = mprof_decoder_next(d, &event)) != MPROF_END)
 *           ...
 *
 * A decoder takes packets in the order in which they come.  What the daemon serves comes in logical order; the image of a ring
 * does not where it has wrapped, and struct mprof_order finds the order of one.
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

/* The longest event that is decoded.  A longer one is damage: it bounds what a decoder holds of a string cut in two. */
#define MPROF_EVENT_BYTES_MAX (16u << 20)

enum mprof_status {
	MPROF_OK = 0,  /* here is one */
	MPROF_MORE,    /* all bytes given so far are used up: feed, or finish */
	MPROF_END,     /* finished, and nothing is left */
	MPROF_CORRUPT, /* damage was passed over; its description stands ready, the next call goes on behind it */
	MPROF_NOMEM,   /* no memory; nothing was consumed, the call can be repeated */
};

/* One packet, as its header says. */
struct mprof_packet {
	uint64_t index;	 /* position in the input, from 0; damaged ones count */
	uint64_t offset; /* of its header, in bytes from the start of the input */
	uint64_t
		sequence; /* its count widened: never falls from packet to packet, equal in continuations of one packet */
	uint32_t packet_bytes;	/* its room, header included */
	uint32_t content_bytes; /* its used part, header included */
	uint16_t count;		/* sequence number modulo 65,536 */
};

struct mprof_event {
	struct mprof_raw_event
		raw; /* what it says; its text is lent until the next call on the decoder or the end of the fed bytes */
	uint64_t offset; /* of its first byte in the input */
};

enum mprof_damage_reason {
	MPROF_DAMAGE_HEADER,	 /* no valid packet header where one should be: see the field header */
	MPROF_DAMAGE_UNKNOWN_ID, /* an event id past the table: see the field id */
	MPROF_DAMAGE_CUT_EVENT,	 /* the packet's content ends inside an event */
	MPROF_DAMAGE_LONG_EVENT, /* an event longer than MPROF_EVENT_BYTES_MAX */
	MPROF_DAMAGE_CUT_INPUT,	 /* the input ends inside a packet */
	MPROF_DAMAGE_LINE,	 /* of a log of s-expressions: a line that is no event; the field packet counts lines */
};

struct mprof_damage {
	enum mprof_damage_reason reason;
	uint64_t packet;		 /* index of the packet */
	uint64_t packet_offset;		 /* of its header */
	uint64_t offset;		 /* where the fault is, in bytes from the start of the input */
	uint64_t skipped;		 /* bytes of content (or, with a bad header, of the input) passed over */
	bool counted;			 /* is COUNT known? */
	uint16_t count;			 /* the packet's, where its header was sound */
	uint8_t id;			 /* MPROF_DAMAGE_UNKNOWN_ID */
	enum mprof_packet_status header; /* MPROF_DAMAGE_HEADER */
};

struct mprof_decoder;

/* A decoder at the start of an input, or NULL without memory. */
MPROF_API struct mprof_decoder *mprof_decoder_new(void);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_decoder *mprof_decoder_free(struct mprof_decoder *d);

/*
 * Start anew at a packet: what comes next stands at OFFSET in the input and is packet INDEX.  The memory and the sequence
 * stay.  For a first use it need not be called.
 */
MPROF_API void mprof_decoder_begin(struct mprof_decoder *d, uint64_t offset, uint64_t index);

/*
 * Lend LEN bytes at BYTES, which follow those before them.  To be called when mprof_decoder_next() said MPROF_MORE (or first): bytes not yet
 * used up would be lost.  They must stay as they are until it says MPROF_MORE or MPROF_END.
 */
MPROF_API void mprof_decoder_feed(struct mprof_decoder *d, const void *bytes, size_t len);

/* No more bytes will come: mprof_decoder_next() then says MPROF_END instead of MPROF_MORE, after damage where a packet is open. */
MPROF_API void mprof_decoder_finish(struct mprof_decoder *d);

/* The next event into *EVENT, on MPROF_OK only. */
MPROF_API enum mprof_status mprof_decoder_next(struct mprof_decoder *d, struct mprof_event *event);

/*
 * The next events, up to N (at least 1), into EVENTS, all of one packet; returns how many.  With 0 *STATUS is what mprof_decoder_next()
 * would say instead of an event, else MPROF_OK.  Events and damage are the same, at less cost for each; texts are lent as there.
 */
MPROF_API size_t mprof_decoder_batch(struct mprof_decoder *d, struct mprof_event *events, size_t n,
				     enum mprof_status *status);

/* The packet of the last event; lent, valid after an MPROF_OK. */
MPROF_API const struct mprof_packet *mprof_decoder_packet(const struct mprof_decoder *d);
/* The damage of the last MPROF_CORRUPT; lent until the next event is asked for. */
MPROF_API const struct mprof_damage *mprof_decoder_damage(const struct mprof_decoder *d);

/* What a decoder came across so far, over all that it was made to begin. */
struct mprof_totals {
	uint64_t packets;      /* with a sound header; empty ones, and continuations of one packet, count */
	uint64_t lost_packets; /* missing between them by their counts; a step back is no loss, but another trace */
	uint64_t damages;
	uint64_t skipped; /* bytes passed over because of damage */
};

/* Lent; stays true while the decoder goes on. */
MPROF_API const struct mprof_totals *mprof_decoder_totals(const struct mprof_decoder *d);

/* The damage as a sentence without a full stop in BUF of SIZE bytes (200 hold every one), always terminated; returns its length. */
MPROF_API size_t mprof_damage_text(const struct mprof_damage *damage, char *buf, size_t size);

/*
 * The logs of 2014, before there were packets: lines as `((time 8249.521319)(op(Creates 0 1 Task)))`.  Bytes in and events out as with a
 * decoder; a line that is no event is damage of that line alone.  A thread without a type has MPROF_THREAD_UNKNOWN.
 */
struct mprof_sexp;

/* Does an input that begins with LEN bytes at BYTES look like one? */
MPROF_API bool mprof_sexp_begins(const void *bytes, size_t len);
/* NULL without memory. */
MPROF_API struct mprof_sexp *mprof_sexp_new(void);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_sexp *mprof_sexp_free(struct mprof_sexp *s);
/* As mprof_decoder_feed(), mprof_decoder_finish(), mprof_decoder_next() and mprof_decoder_damage(). */
MPROF_API void mprof_sexp_feed(struct mprof_sexp *s, const void *bytes, size_t len);
MPROF_API void mprof_sexp_finish(struct mprof_sexp *s);
MPROF_API enum mprof_status mprof_sexp_next(struct mprof_sexp *s, struct mprof_event *event);
MPROF_API const struct mprof_damage *mprof_sexp_damage(const struct mprof_sexp *s);

/* A piece of an input: one packet and what stands behind it up to the next one. */
struct mprof_span {
	uint64_t offset; /* in bytes from the start of the input */
	uint64_t bytes;
	uint64_t packet; /* index of its packet in the input */
};

struct mprof_order;

/* NULL without memory.  About 40 KiB, whatever is scanned later. */
MPROF_API struct mprof_order *mprof_order_new(void);
MPROF_API struct mprof_order *mprof_order_free(struct mprof_order *o);

/*
 * Find the logical order of the whole input, LEN bytes at BYTES, by its packets' headers.  Only the image of a wrapped ring (at most
 * MPROF_RING_PACKETS_MAX packets) is put into another order than it has; order.c states the rule.
 */
MPROF_API void mprof_order_scan(struct mprof_order *o, const void *bytes, size_t len);
/* The pieces to decode one after the other, each from mprof_decoder_begin() to MPROF_END.  Together they are the whole input. */
MPROF_API size_t mprof_order_spans(const struct mprof_order *o);
MPROF_API const struct mprof_span *mprof_order_span(const struct mprof_order *o, size_t i);

/*
 * Does an input that begins with LEN bytes at BYTES come from the daemon?  True where the first packet's room is cut to its content, as
 * served packets are and a ring's are not: such an input is in order already and need not be held back.
 */
MPROF_API bool mprof_order_served(const void *bytes, size_t len);

/* Room that holds the fixed part of any event as text. */
#define MPROF_TEXT_FIXED_MAX 256u
/* The most that one byte of a string becomes, as text or as JSON. */
#define MPROF_TEXT_FACTOR 6u

/*
 * One event as `SECONDS.NANOSECONDS NAME key=value …`, into LINE (MPROF_TEXT_FIXED_MAX bytes, not terminated); returns the length.
 * An event with a string ends in the opening quote: the string follows by mprof_text_escape(), then the closing quote.
 */
MPROF_API size_t mprof_event_text(const struct mprof_raw_event *e, char *line);
/* The same as the opening of a JSON object, up to the string's opening quote or, without a string, its closing brace. */
MPROF_API size_t mprof_event_json(const struct mprof_raw_event *e, char *line);
/* The key under which the event's string stands in both, or NULL. */
MPROF_API const char *mprof_event_text_key(const struct mprof_raw_event *e);

/*
 * Escape what fits of *LEFT bytes at *TEXT into OUT of ROOM bytes, and move both on; returns the bytes written.  Goes on with the next call
 * where *LEFT is not 0; ROOM must be at least 32.  Printable UTF-8 stays, a quote and a backslash get a backslash before them, any
 * other byte becomes \xNN; text.c says what is printable.
 */
MPROF_API size_t mprof_text_escape(char *out, size_t room, const char **text, size_t *left);
/* The same for people, where no quote ends the string: quotes and backslashes stand for themselves. */
MPROF_API size_t mprof_text_show(char *out, size_t room, const char **text, size_t *left);
/* As mprof_text_escape(), for a JSON string: what is not printable becomes \uNNNN, and each byte that is not UTF-8 the replacement character. */
MPROF_API size_t mprof_text_json(char *out, size_t room, const char **text, size_t *left);
/* Is it UTF-8 throughout, so that mprof_text_json() loses nothing? */
MPROF_API bool mprof_text_is_utf8(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
