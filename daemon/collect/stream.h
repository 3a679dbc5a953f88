/*
 * A stream: one ring of a guest's run.
 *
 * A source attaches rings and polls each when its own cadence asks for it. The copied bytes become
 * items of the queue. A ring file is a guest with one stream; a guest of Xen has one stream for
 * each ring that it publishes. Only the collector's thread calls this.
 */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cadence.h"
#include "ring.h"
#include "writer.h"

struct guest;
struct item;

struct stream {
	struct guest *guest; /* NULL = not attached */
	struct stream *next; /* next stream of the guest */
	uint32_t number;     /* k of data/mprof/stream/<k>; 0 for the only one */
	char *label;	     /* for people, or NULL; owned */
	int64_t id;
	bool announced; /* the archive was told of it */
	struct ring ring;
	struct ring_sink sink;
	struct lane *lane;     /* its waiting items that may be evicted */
	struct item *reserved; /* between reserve and chunk or drop */
	struct item *gap;      /* gap declared and not queued yet: gaps with no bytes between them become one */
	struct cadence cadence;
	uint32_t flags; /* ARCHIVE_STREAM_*, as last queued */
	bool starved;	/* the queue had no room since the last poll that ended well */
	bool disk;	/* the reason was that nothing is archived */
	struct {
		uint64_t packets, gaps; /* declared, counted and evicted: not counted again */
	} recount;
	struct {
		bool wanted; /* the guest's capture lacks some of this stream */
		bool begun;  /* its proven bytes are queued; its tail is on its way */
		struct ring_mark at;
		bool cut;     /* dead guest: not all of it found room */
		size_t floor; /* dead guest: room to leave for the newest packets while older ones are copied */
	} capture;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until stream_detach) as stream NUMBER of
 * GUEST, which gets a run if it has none. RESUME: the archive's state of the stream to continue, or
 * NULL. LABEL is printable or NULL, and copied. Return values as ring_attach; after a failure
 * *STREAM is zeroed and needs no detach.
 */
int stream_attach(struct stream *stream, struct guest *guest, uint32_t number, const char *label,
		  const struct memory *memory, uint64_t bytes, const struct archive_resume *resume, bool dead,
		  const char **fault);
/*
 * Detach the ring and zero *STREAM. A capture under way continues without it. Accept one that is
 * not attached.
 */
void stream_detach(struct stream *stream);

/*
 * Poll the ring, and do what policy and captures ask for. The archive must know the guest
 * (guest_set_state). *NEXT: when the cadence asks for the next poll, CLOCK_MONOTONIC ns as NOW.
 * Return 0, RING_E_FULL, RING_E_GONE or RING_E_RENEWED.
 */
int stream_poll(struct stream *stream, uint64_t now, uint64_t *next);

/*
 * Tell the archive of the stream, once, after its run. guest_set_state does so for attached
 * streams, and a poll makes up for it. Return 0 or -ENOMEM.
 */
int stream_announce(struct stream *stream);

/* ---- for guest.c ---- */

/* Queue the pending gap, if there is one. */
void stream_flush(struct stream *stream);
/*
 * End the stream's part of the guest's capture, complete or not. A living guest's capture keeps
 * what it has.
 */
void stream_capture_end(struct stream *stream);

#endif
