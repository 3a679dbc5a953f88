/*
 * A stream: one ring of a guest's run.
 *
 * A source attaches rings, and polls each as often as its cadence says. The copied bytes become
 * items of the queue. A ring file is a guest with one stream; a guest of Xen has one stream for
 * each ring that it publishes. Only the collector's thread calls these functions.
 */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cadence.h"
#include "ring.h"
#include "stream-stamp.h"
#include "writer.h"

struct guest;
struct item;

struct stream {
	struct guest *guest; /* NULL = not attached */
	struct stream *next; /* next stream of the guest */
	uint32_t number;     /* k of data/mprof/stream/<k>; 0 if the guest has only one ring */
	char *label;	     /* name for users; NULL = none; owned */
	int64_t id;
	uint64_t begins; /* the oldest packet that the ring had at the first attach, if HAS_BEGINS */
	bool has_begins; /* this process attached it first */
	bool announced;	 /* its record was queued for the archive */
	struct ring ring;
	struct ring_sink sink;
	struct lane *lane;     /* its waiting items that may be evicted; NULL = none may */
	struct item *reserved; /* item that sink_reserve() has returned, until sink_chunk() or sink_drop() */
	struct item *gap;      /* gap that is not queued yet, because gaps without bytes between them are joined */
	struct cadence cadence;
	uint32_t flags; /* ARCHIVE_STREAM_*, as queued last */
	struct stream_stamp stamp;
	struct stream_watch watch;
	bool stepped;		 /* the guest's clock went back since the last stamp */
	uint64_t stepped_packet; /* sequence of the packet in which it went back last, plus 1; 0 = none */
	uint64_t polled;	 /* when the last poll began, CLOCK_MONOTONIC ns */
	bool starved;		 /* the queue had no room, or evicted its items, since the last poll that found room */
	bool disk;		 /* the queue had no room because nothing is archived */
	struct {
		/* Packets and gaps that were counted and then evicted: do not count them again. */
		uint64_t packets, gaps;
	} recount;
	struct {
		bool wanted; /* the guest's capture still needs this stream's part */
		bool begun;  /* the proven bytes are queued, and the tail is being copied */
		struct ring_mark at;
		bool cut;     /* dead guest: there was no room for all bytes */
		size_t floor; /* dead guest: room to keep for the newest packets while older ones are copied, bytes */
	} capture;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until stream_detach()) as stream NUMBER of
 * GUEST, and begin a run if GUEST has none. RESUME is the archive's record of the stream to
 * continue; NULL = it is new. LABEL is printable or NULL, and copied. DEAD and FAULT as in
 * ring_attach(). Return as ring_attach(); after a failure *STREAM is zeroed and needs no detach.
 */
int stream_attach(struct stream *stream, struct guest *guest, uint32_t number, const char *label,
		  const struct memory *memory, uint64_t bytes, const struct archive_resume *resume, bool dead,
		  const char **fault);
/*
 * Detach the ring and zero *STREAM. A capture that is being taken continues without this stream. Do
 * nothing if *STREAM is not attached.
 */
void stream_detach(struct stream *stream);

/*
 * Declare an unknown part behind the last copied byte lost: the guest began its ring anew, or cut it, before the end was copied. To be
 * called before the run ends or stream_detach(). Do nothing if the guest was not seen to write, or if its policy leaves the bytes out.
 */
void stream_declare_unseen(struct stream *stream);

/*
 * Poll the ring, and take the steps that the guest's policy and captures need. guest_set_state()
 * must have been called before. *NEXT is when to poll again, CLOCK_MONOTONIC ns. Return 0,
 * RING_E_FULL, RING_E_GONE or RING_E_RENEWED.
 */
int stream_poll(struct stream *stream, uint64_t now, uint64_t *next);

/*
 * Queue the stream's record for the archive, once, after its run was queued. guest_set_state()
 * calls this for attached streams; if it fails, the next poll tries again. Return 0 or -ENOMEM.
 */
int stream_announce(struct stream *stream);

/* ---- for guest.c ---- */

/* Queue the gap that is not queued yet, if there is one. */
void stream_flush(struct stream *stream);
/* End the stream's part of the guest's capture, complete or not. */
void stream_capture_end(struct stream *stream);

#endif
