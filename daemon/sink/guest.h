/*
 * A guest that the receiver connects to: because a client asked for it, or because the guest says
 * in XenStore that it offers its profile. It outlives its streams, because the receiver connects to
 * it again. Guests that connect by themselves have a stream only (stream.h).
 */
#ifndef SINK_GUEST_H
#define SINK_GUEST_H

#include <systemd/sd-event.h>

#include "control-server.h"
#include "stream.h"

#define MEMTRACE_PORT 4242u /* mirage-monitoring's default */

struct receiver;

struct guest {
	struct guest *next;
	struct receiver *receiver;
	int64_t run, domid; /* 0 and -1 = unknown */
	char *name, *uuid;  /* owned; NULL = unknown */
	char address[STREAM_ADDRESS_MAX];
	uint32_t port;
	struct control_asker starter; /* client that waits for the first recording; CLIENT 0 = none */
	uint64_t where;		      /* tag of the open question where the guest is; 0 = none is open */
	struct stream *stream;	      /* NULL = not connected */
	sd_event_source *timer;
	uint64_t backoff;   /* ns until the next try */
	uint64_t lost;	    /* CLOCK_MONOTONIC ns since when the guest is lost; 0 = it is not */
	uint64_t connected; /* CLOCK_MONOTONIC ns when the present recording began */
	bool over;	    /* do not connect again unless a client asks */
	bool automatic;	    /* the guest offers its profile: it stays in the list as long as it does */
	uint32_t offered_port;
	uint64_t seen; /* CLOCK_MONOTONIC ns when the guest was last among the offers */
};

/* An offer, as the collector lists it. */
struct offer {
	int64_t run, domid;
	uint32_t port;
};

/* Start to record the guest that M names, and answer ASKER. */
void guest_start(struct receiver *s, struct control_asker asker, const struct message *m);
/* Connect to a guest that offers its profile since NOW, if its policy allows that. */
void guest_offered(struct receiver *s, const struct offer *offer, uint64_t now);
/* Note that the guest offers its profile at another PORT now. */
void guest_moved(struct guest *g, uint32_t port);
/*
 * Note that the guest is gone, or offers nothing any more. Bytes that it still sends are recorded. May
 * free G.
 */
void guest_gone(struct guest *g);
/* Note that the guest's stream has a recording. */
void guest_recording(struct guest *g);
/* Note that the guest's stream ended for REASON, and whether anything was RECORDED. May free G. */
void guest_ended(struct guest *g, const char *reason, bool recorded);
/*
 * Take the collector's answer M where the guest's domain is; NULL = the collector does not know.
 * May free G.
 */
void guest_located(struct guest *g, const struct message *m);
void guest_free(struct guest *g);

#endif
