/*
 * A guest to which the receiver connects, because a client asked for it, or because the guest
 * offers its profile in XenStore. The struct is kept after a stream has ended, because the receiver
 * may connect again. A guest that connects by itself has only a struct stream (guest-stream.h).
 */
#ifndef SINK_GUEST_H
#define SINK_GUEST_H

#include <systemd/sd-event.h>

#include "control-server.h"
#include "guest-stream.h"
#include "timer.h"

#define MEMTRACE_PORT 4242u /* mirage-monitoring's default */

struct receiver;

struct guest {
	struct guest *next;
	struct receiver *receiver;
	int64_t run, domid; /* 0 and -1 = unknown */
	char *name, *uuid;  /* owned; NULL = unknown */
	char address[STREAM_ADDRESS_MAX];
	uint32_t port;
	struct control_asker starter; /* client that waits until the first recording begins; CLIENT 0 = none */
	/* Tag of the question to the collector for the guest's address; 0 = none is open. */
	uint64_t where;
	struct stream *stream; /* NULL = not connected */
	struct timer timer;
	uint64_t backoff;   /* ns to wait before the next attempt */
	uint64_t lost;	    /* since when the guest's connection is lost, CLOCK_MONOTONIC ns; 0 = it is not lost */
	uint64_t connected; /* begin of the current recording, CLOCK_MONOTONIC ns */
	bool over;	    /* do not connect again unless a client asks */
	bool automatic;	    /* the guest offers its profile; it stays in the list as long as it does */
	uint32_t offered_port;
	uint64_t seen; /* when the collector last listed the guest's offer, CLOCK_MONOTONIC ns */
};

/* An offer of a memory profile, as the collector lists it. */
struct offer {
	int64_t run, domid;
	uint32_t port;
};

/*
 * Begin to record the guest that the request M names. ASKER gets the answer when the recording has
 * begun, or failed.
 */
void guest_start(struct receiver *receiver, struct control_asker asker, const struct message *m);
/* The collector lists OFFER at NOW: connect to its guest if the guest's policy allows that. */
void guest_offered(struct receiver *receiver, const struct offer *offer, uint64_t now);
/* The guest now offers its profile at PORT: use that for the next connection. */
void guest_moved(struct guest *g, uint32_t port);
/*
 * The guest is gone, or has withdrawn its offer: do not connect again. An open stream goes on until
 * it ends. May free G.
 */
void guest_gone(struct guest *g);
/* The guest's stream has begun a recording. */
void guest_recording(struct guest *g);
/* The guest's stream has ended for REASON. RECORDED: it had a recording. May free G. */
void guest_ended(struct guest *g, const char *reason, bool recorded);
/*
 * Handle M, the collector's answer with the address of the guest's domain; NULL = the collector does
 * not know the address. May free G.
 */
void guest_located(struct guest *g, const struct message *m);
void guest_free(struct guest *g);

#endif
