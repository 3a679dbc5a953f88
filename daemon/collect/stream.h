/*
 * A stream: one ring of a guest's run.
 *
 * A source attaches rings and looks at each when its own cadence asks for it; what the ring hands over becomes items of the queue.  A guest
 * of files has one stream, a guest of Xen's one for each ring that it publishes.  Called from the collector's thread only.
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
	struct guest *guest; /* NULL: not attached */
	struct stream *next; /* of the guest's */
	uint32_t number;     /* k of data/mprof/stream/<k>; 0 for the only one */
	char *label;	     /* for people, or NULL; owned */
	int64_t id;
	bool announced; /* the archive was told of it */
	struct ring ring;
	struct ring_sink sink;
	struct lane *lane;     /* what of it waits and may be taken back */
	struct item *reserved; /* between reserve and chunk or drop */
	struct item *gap;      /* declared and not queued yet: gaps with nothing between them become one */
	struct cadence cadence;
	uint32_t flags; /* ARCHIVE_STREAM_*, as last queued */
	bool starved;	/* the queue had no room since the last look that ended well ... */
	bool disk;	/* ... because nothing was archived */
	struct {
		uint64_t packets, gaps; /* declared, counted and taken back: not counted again */
	} recount;
	struct {
		bool wanted; /* the guest's capture has not got all of this stream yet */
		bool begun;  /* what it can prove is queued; its tail is on its way */
		struct ring_mark at;
		bool cut;     /* of the dead: not all of it found room */
		size_t floor; /* of the dead: room to leave for the newest packets, while older ones are copied */
	} capture;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until stream_detach) as stream NUMBER of GUEST, which gets a run now if it has none.
 * RESUME: go on with what the archive has of it, or NULL.  LABEL is copied; it is printable, or NULL.  As ring_attach; on anything but 0
 * *STREAM is zeroed and needs no detach.
 */
int stream_attach(struct stream *stream, struct guest *guest, uint32_t number, const char *label,
		  const struct memory *memory, uint64_t bytes, const struct archive_resume *resume, bool dead,
		  const char **fault);
/* Let go of the ring, and zero *STREAM.  A capture that was under way goes on without it.  One that is not attached too. */
void stream_detach(struct stream *stream);

/*
 * One look, and what policy and captures ask for.  The archive must have been told of its guest (guest_set_state).  *NEXT: when its cadence asks for the next, in CLOCK_MONOTONIC ns as NOW.  0, RING_E_FULL, RING_E_GONE, RING_E_RENEWED.
 */
int stream_poll(struct stream *stream, uint64_t now, uint64_t *next);

/* Tell the archive of it, once, after its run.  guest_set_state does it for those that are attached, and a look makes it good.  -ENOMEM. */
int stream_announce(struct stream *stream);

/* ---- for guest.c ---- */

/* Queue the gap that waits, if one does. */
void stream_flush(struct stream *stream);
/* Its part of the guest's capture is over, through or not; of one of the living what it has got stays. */
void stream_capture_end(struct stream *stream);

#endif
