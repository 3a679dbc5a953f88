/*
 * A stream: one TCP connection of a guest, and its recording. Its states:
 *
 *  CONNECTING  the receiver is connecting
 *  FIRST       connected, and the first packet is not complete
 *  RECORDING   the first packet has come: there is a recording
 *  STOPPING    the receiver has shut down its side; the guest's last bytes are received until the
 *              guest closes or the deadline passes
 *  ENDED       the connection is closed; the stream waits until the collector says who the guest is
 *
 * A stream is read as soon as it has bytes, so the guest never waits. Nothing is ever written to
 * the guest.
 */
#ifndef SINK_STREAM_H
#define SINK_STREAM_H

#include <systemd/sd-event.h>

#include "account.h"
#include "batch.h"
#include "framing.h"
#include "timer.h"

#define STREAM_ADDRESS_MAX 64u

struct receiver;
struct guest;

enum stream_state { STREAM_CONNECTING, STREAM_FIRST, STREAM_RECORDING, STREAM_STOPPING, STREAM_ENDED };

struct stream {
	struct stream *next;
	struct receiver *receiver;
	enum stream_state state;
	int fd;
	sd_event_source *io;
	struct timer timer;
	struct guest *guest; /* guest to which the receiver has connected; NULL = the guest connected by itself */
	/*
	 * When to end the stream in its state, CLOCK_MONOTONIC ns; 0 = never, as for an idle guest.
	 */
	uint64_t deadline;
	struct framing framing;
	/*
	 * Bytes that were received and are not in a batch: LEN of ROOM bytes, the first WHOLE of
	 * which are whole packets.
	 */
	uint8_t *block;
	size_t room, len, whole;
	bool dirty;	       /* the recording's row must be written again */
	struct memtrace about; /* the recording; its strings point into this struct */
	char address[STREAM_ADDRESS_MAX];
	char *name, *uuid;
	struct framing_info *info;
	const char *stop_reason; /* why the stream is being stopped or has ended */
	struct control_asker stopper;
	uint64_t who;	   /* tag of the question to the collector who the guest is; 0 = none is open */
	uint64_t who_next; /* when to ask again, CLOCK_MONOTONIC ns */
	unsigned who_tries;
	struct account *account;
	uint64_t counted; /* bytes of this stream that ACCOUNT has counted */
	uint64_t heard;	  /* when bytes came last, or the connection was made, CLOCK_MONOTONIC ns */
};

/*
 * Create the stream of the connection FD, which is taken over, also on failure. GUEST NULL: FD is
 * connected; else FD is connecting to GUEST. Return NULL if the connection was closed.
 */
struct stream *stream_new(struct receiver *receiver, int fd, const char *address, uint32_t port, struct guest *guest);
/* End the stream and its recording for REASON, and free S. */
void stream_end(struct stream *s, const char *reason);
/*
 * Stop the stream for REASON: shut down the connection, and receive the guest's last bytes. ASKER
 * is answered when the recording has ended. May free S.
 */
void stream_stop(struct stream *s, const char *reason, struct control_asker asker);
/*
 * End S, which is silent, to make room for another stream: its connection, or its recording for the reason
 * "evicted". If bytes have come meanwhile that end its silence, S stays. May free S.
 */
void stream_evict(struct stream *s);
/*
 * Move the new whole packets, and the recording if it has changed, to the batch B. If memory is
 * short, the stream is ended soon.
 */
void stream_flush(struct stream *s, struct batch *b);
/*
 * Move the packets that are complete to the batch B, and add the recording's row to it, even if the
 * row has not changed. Return the item of the row, which B owns, or NULL if memory is short.
 */
struct item *stream_put(struct stream *s, struct batch *b);
/* Handle the collector's answer who the guest is; the strings are copied. May free S. */
void stream_identify(struct stream *s, int64_t run, const char *name, const char *uuid, int64_t domid);

#endif
