/* The receiver of memory profiles: the event loop, its listeners, its streams, and the guests that it connects to. */
#ifndef SINK_RECEIVER_H
#define SINK_RECEIVER_H

#include <systemd/sd-event.h>

#include "collector.h"
#include "commit-thread.h"
#include "config.h"
#include "guest.h"
#include "log.h"
#include "notice.h"
#include "opened.h"
#include "stream.h"

#define COMPLAINTS 64u

struct receiver_counts {
	uint64_t accepted, connected, recordings, bytes, packets, garbage, refused, overrun, rate, quota, reset, cut,
		dropped;
};

struct receiver {
	const struct config *config;
	sd_event *event;
	sd_event_source *wake_source, *tick;
	sd_event_source **listeners;
	size_t n_listeners;
	int wake_fd;
	struct commit_thread *commit_thread;
	struct commit_thread_state state;
	struct control_server *control;
	struct opened_file file; /* of the archive */
	unsigned ticks;
	struct notice *collector;
	struct stream *streams;
	unsigned n_streams;
	struct guest *guests;
	uint64_t offers;    /* tag of the open question which guests offer a profile; 0 = none is open */
	uint64_t offers_at; /* CLOCK_MONOTONIC ns when that was asked */
	struct batch batch; /* grows until it is handed over */
	uint64_t given;	    /* bytes of the batch that is being committed */
	uint64_t held;	    /* bytes received and not committed */
	int64_t last_id;
	uint64_t oldest; /* CLOCK_MONOTONIC ns since when a byte waits to be handed over; 0 = none waits */
	struct accounts accounts;
	struct receiver_counts counts;
	uint64_t seen_bytes; /* received until the last tick */
	uint64_t busy;	     /* CLOCK_MONOTONIC ns when much came last; 0 = there is no memory to give back */
	char complaints[COMPLAINTS][STREAM_ADDRESS_MAX]; /* addresses that the log has complained about */
	unsigned next_complaint;
	struct log_limit limit;
	struct log_limit recorded; /* of the lines that a recording begins or ends */
	bool ending;
	uint64_t end_by; /* CLOCK_MONOTONIC ns */
	int failed;	 /* -errno that ends the loop; 0 = none */
};

struct receiver_options {
	const char *state; /* directory with the archive */
	const char *run;   /* directory with the sockets */
};

/* Open everything. On failure return -errno and a SENTENCE of SIZE bytes. Call receiver_deinit() in any case. */
int receiver_init(struct receiver *s, const struct config *config, const struct receiver_options *options,
		  char *sentence, size_t size);
/* Run until SIGTERM. Return 0 or -errno. */
int receiver_run(struct receiver *s);
void receiver_deinit(struct receiver *s);

/* Hand over to the commit thread soon, or at once if enough has come. */
void receiver_dirty(struct receiver *s);
/* Return NULL if ACCOUNT may send BYTES more; otherwise the reason why not, which is counted. */
const char *receiver_room(struct receiver *s, struct account *account, uint64_t bytes);
/* Count garbage from ADDRESS, and log it once per address. WHAT completes the sentence "what came from a guest". */
void receiver_complain(struct receiver *s, const char *address, const char *what);

/* ---- listener.c ---- */

struct sockaddr_storage;

/* Accept guests on TEXT, HOST:PORT. On failure return -errno and a SENTENCE of SIZE bytes. */
int receiver_listen(struct receiver *s, const char *text, char *sentence, size_t size);
/* Parse a numeric address such as "10.0.0.1" or "::1" into STORE; *LEN is its size. Return false if TEXT is none. */
bool address_parse(const char *text, uint32_t port, struct sockaddr_storage *store, unsigned *len);
/* Write an address as text of at most STREAM_ADDRESS_MAX bytes. IPv4 in IPv6 is written as IPv4. */
void address_text(const struct sockaddr_storage *store, char *text, uint32_t *port);

/* ---- control.c ---- */

/* Answer a request on the control socket. */
control_request receiver_request;
/* Answer the requests whose items have been committed. */
void receiver_answers(struct receiver *s, struct batch *done);

#endif
