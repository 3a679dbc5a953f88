/*
 * A stream: one TCP connection of a guest, and its recording.
 *
 *   CONNECTING  the receiver is connecting
 *   FIRST       connected, before the first packet
 *   RECORDING   the first packet came: there is a recording
 *   STOPPING    our side is shut; the rest is taken until the guest closes or the deadline passes
 *   ENDED       the connection is gone; the stream waits for the collector to say who the guest is
 *
 * A stream is read as soon as bytes are there. The guest never waits, and nothing is ever written to
 * it.
 */
#ifndef SINK_STREAM_H
#define SINK_STREAM_H

#include <systemd/sd-event.h>

#include "account.h"
#include "batch.h"
#include "framing.h"

#define STREAM_ADDRESS_MAX 64u

struct receiver;
struct guest;

enum stream_state { STREAM_CONNECTING, STREAM_FIRST, STREAM_RECORDING, STREAM_STOPPING, STREAM_ENDED };

struct stream {
	struct stream *next;
	struct receiver *receiver;
	enum stream_state state;
	int fd;
	sd_event_source *io, *timer;
	struct guest *guest; /* guest that was connected to; NULL = the guest connected by itself */
	uint64_t deadline;   /* CLOCK_MONOTONIC ns; 0 = none, as for an idle guest */
	struct framing framing;
	uint8_t *block; /* bytes received and not handed over: WHOLE of its LEN bytes are whole packets */
	size_t room, len, whole;
	bool dirty;	       /* the recording must be put again */
	struct memtrace about; /* the recording; its texts point into this struct */
	char address[STREAM_ADDRESS_MAX];
	char *name, *uuid;
	struct framing_info *info;
	const char *stop_reason; /* reason why it is being stopped, or has ended */
	struct control_asker stopper;
	uint64_t who;	   /* tag of the open question who the guest is; 0 = none is open */
	uint64_t who_next; /* CLOCK_MONOTONIC ns of the next question */
	unsigned who_tries;
	struct account *account;
	uint64_t counted; /* bytes of the stream in the account */
};

/*
 * Make a stream of a connection that is there, or (GUEST not NULL) under way. FD is taken over in
 * any case. Return NULL if it was closed.
 */
struct stream *stream_new(struct receiver *receiver, int fd, const char *address, uint32_t port, struct guest *guest);
/* End and free the stream and its recording, for REASON. */
void stream_end(struct stream *s, const char *reason);
/*
 * Stop the stream for REASON: take the guest's last bytes first. ASKER is answered when it has
 * ended. May free S.
 */
void stream_stop(struct stream *s, const char *reason, struct control_asker asker);
/*
 * Hand new whole packets and the recording over to the batch. Without memory the stream ends soon.
 */
void stream_flush(struct stream *s, struct batch *b);
/*
 * Hand the packets and the recording over even if nothing is new. Return the recording's item, or
 * NULL if there is no memory.
 */
struct item *stream_put(struct stream *s, struct batch *b);
/* Take the collector's answer who the guest is; texts are copied. May free S. */
void stream_identify(struct stream *s, int64_t run, const char *name, const char *uuid, int64_t domid);

#endif
