/*
 * A stream: one TCP connection of a guest, and the recording that is made of it.
 *
 *   CONNECTING  we asked for it, and it is not there yet
 *   FIRST       connected, and its first packet has not come
 *   RECORDING   it has, so there is a recording
 *   STOPPING    the same, our side is shut: what still comes is taken until the guest closes or time is over
 *   ENDED       the connection is gone; for a moment the recording waits for the collector to say whose it is
 *
 * It is read as soon as something is there, always; what comes is never left waiting, and nothing is ever written to it.
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
	struct guest *guest; /* what it was asked for by; NULL = the guest connected */
	uint64_t deadline;   /* CLOCK_MONOTONIC ns; 0 = none: idle guests are not dropped */
	struct framing framing;
	uint8_t *block; /* what came and is not handed over: WHOLE of its LEN bytes are whole packets */
	size_t room, len, whole;
	bool dirty;	       /* the recording is to be put */
	struct memtrace about; /* its texts point into the rest of this */
	char address[STREAM_ADDRESS_MAX];
	char *name, *uuid;
	struct framing_info *info;
	const char *stop_reason; /* why it is being stopped, or has ended */
	struct control_asker stopper;
	uint64_t who;	   /* tag of the question who it is; 0 = none is open */
	uint64_t who_next; /* CLOCK_MONOTONIC ns: when it may be asked again */
	unsigned who_tries;
	struct account *account;
	uint64_t counted; /* bytes of it in the account */
};

/* A connection that is there, or under way where TARGET is not NULL; FD is taken over in any case.  NULL: it was closed. */
struct stream *stream_new(struct receiver *receiver, int fd, const char *address, uint32_t port, struct guest *guest);
/* End it, and with it its recording, for REASON.  Frees it. */
void stream_end(struct stream *s, const char *reason);
/* Stop it for REASON as gently as it can be done.  May free it. */
void stream_stop(struct stream *s, const char *reason, struct control_asker asker);
/* Hand its whole packets and its recording, where they are new, over to the batch.  Where there is no memory it ends soon. */
void stream_flush(struct stream *s, struct batch *b);
/* The same of one that is being recorded, whether or not anything is new; the item is the recording's.  NULL: no memory. */
struct item *stream_put(struct stream *s, struct batch *b);
/* The collector has said whose address it is; texts are copied.  May free it. */
void stream_identify(struct stream *s, int64_t run, const char *name, const char *uuid, int64_t domid);

#endif
