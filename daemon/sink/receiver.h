/*
 * The sink: the loop, its listeners, its streams, and what it was asked to connect to.
 */
#ifndef SINK_RECEIVER_H
#define SINK_RECEIVER_H

#include <systemd/sd-event.h>

#include "commit-thread.h"
#include "config.h"
#include "log.h"
#include "notice.h"
#include "opened.h"
#include "stream.h"

#define SINK_COMPLAINTS 64u
#define SINK_PORT	4242u /* mirage-monitoring's default */

/* What the sink connects to: it outlives its streams, where it is connected to again. */
struct target {
	struct target *next;
	struct sink *sink;
	int64_t run, domid;
	char *name, *uuid;
	char address[STREAM_ADDRESS_MAX];
	uint32_t port;
	struct control_asker starter; /* who waits for its first recording */
	uint64_t where;		      /* tag of the question where it is; 0 = none is open */
	struct stream *stream;	      /* NULL = it waits */
	sd_event_source *timer;
	uint64_t backoff;   /* ns */
	uint64_t lost;	    /* CLOCK_MONOTONIC ns since when it is lost; 0 = it is not */
	uint64_t connected; /* CLOCK_MONOTONIC ns: its present recording began */
	bool over;	    /* not connected to again, but where somebody asks for it */
	/* Of a guest that says that it offers a profile: it is a target as long as it does. */
	bool automatic;
	uint32_t offered_port;
	uint64_t seen; /* CLOCK_MONOTONIC ns: it was among the offers */
};

struct offer {
	int64_t run, domid;
	uint32_t port;
};

struct sink_counts {
	uint64_t accepted, connected, recordings, bytes, packets, garbage, refused, overrun, rate, quota, reset, cut,
		dropped;
};

struct sink {
	const struct config *config;
	sd_event *event;
	sd_event_source *wake_source, *tick;
	sd_event_source **listeners;
	size_t n_listeners;
	int wake_fd;
	struct archivist *archivist;
	struct archivist_state state;
	struct control_server *control;
	struct opened_file file; /* of the archive */
	unsigned ticks;
	struct notice *collector;
	struct stream *streams;
	unsigned n_streams;
	struct target *targets;
	uint64_t offers;    /* tag of the question who offers; 0 = none is open */
	uint64_t offers_at; /* CLOCK_MONOTONIC ns: when it was asked */
	struct batch batch;
	uint64_t given; /* bytes of the batch that is being committed */
	uint64_t held;	/* bytes received and not committed */
	int64_t last_id;
	uint64_t oldest; /* CLOCK_MONOTONIC ns since when something is not handed over; 0 = nothing is */
	struct accounts accounts;
	struct sink_counts counts;
	uint64_t seen_bytes; /* received until the last tick */
	uint64_t busy;	     /* CLOCK_MONOTONIC ns: when much came last; 0 = there is no memory to give back */
	char complaints[SINK_COMPLAINTS][STREAM_ADDRESS_MAX]; /* who was complained about in the log */
	unsigned next_complaint;
	struct log_limit limit;
	struct log_limit recorded; /* of recordings that begin and end */
	bool ending;
	uint64_t end_by;
	int failed;
};

struct sink_options {
	const char *state; /* directory with the archive */
	const char *run;   /* directory with the sockets */
};

/* Open all.  On failure -errno and a SENTENCE of SIZE bytes; deinit it in any case. */
int sink_init(struct sink *s, const struct config *config, const struct sink_options *options, char *sentence,
	      size_t size);
/* Until SIGTERM.  0 or -errno. */
int sink_run(struct sink *s);
void sink_deinit(struct sink *s);

/* listener.c: accept guests on TEXT, HOST:PORT.  0, or -errno and a SENTENCE of SIZE bytes. */
int sink_listen(struct sink *s, const char *text, char *sentence, size_t size);
/* "10.0.0.1", "::1"; false where TEXT is no numeric address.  *LEN is that of the address in STORE. */
struct sockaddr_storage;
bool address_parse(const char *text, uint32_t port, struct sockaddr_storage *store, unsigned *len);
/* An address as text, IPv4 in IPv6 as IPv4. */
void address_text(const struct sockaddr_storage *store, char *text, uint32_t *port);

/* Something is to be handed over. */
void sink_dirty(struct sink *s);
/* May BYTES more come of GUEST?  NULL; or the reason why not, and its counter goes up. */
const char *sink_room(struct sink *s, struct account *guest, uint64_t bytes);
/* Garbage came: one line in the log per address, and a count. */
void sink_complain(struct sink *s, const char *address, const char *what);

/* control.c */
control_request sink_request;
void sink_answers(struct sink *s, struct batch *done);

/* guest.c */
void target_start(struct sink *s, struct control_asker asker, const struct message *m);
/* Its stream has a recording; or it ended, for REASON, with one or without. */
void target_recording(struct target *t);
void target_ended(struct target *t, const char *reason, bool recorded);
/* The collector has said where its domain is; M NULL: it cannot. */
void target_where(struct target *t, const struct message *m);
void target_free(struct target *t);
/* A guest offers a profile, as it is known NOW: connect to it, if its policy says so. */
void target_offered(struct sink *s, const struct offer *offer, uint64_t now);
/* The same guest, at another PORT. */
void target_offered_anew(struct target *t, uint32_t port);
/* It does not any more, or is gone: what it sends yet is taken.  May free it. */
void target_gone(struct target *t);

/* collector.c: which guests offer profiles.  To be called a few times a second, and with the collector's answer (NULL: it has none). */
void offers_tick(struct sink *s);
void offers_answer(struct sink *s, const struct message *m);

/* collector.c: the collector is asked, and answers. */
int identify_open(struct sink *s, const char *run);
void identify_stream(struct stream *s);
/* Ask again of whom it was not known.  To be called a few times a second. */
void identify_tick(struct sink *s);
bool identify_target(struct target *t);

/* control.c: as OpenMetrics text. */
void sink_metrics(const struct sink *s, char *text, size_t size);

#endif
