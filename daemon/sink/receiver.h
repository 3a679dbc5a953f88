/*
 * The receiver of memory profiles: the event loop, its listeners, its streams, and the guests to
 * which it connects.
 */
#ifndef SINK_RECEIVER_H
#define SINK_RECEIVER_H

#include <systemd/sd-event.h>

#include "batch-commits.h"
#include "called-guest.h"
#include "collector-questions.h"
#include "config.h"
#include "guest-stream.h"
#include "log.h"
#include "notice.h"
#include "opened.h"
#include "timer.h"

#define COMPLAINTS 64u

struct receiver_counts {
	uint64_t accepted, connected, recordings, bytes, packets, garbage, refused, evicted, overrun, rate, quota,
		reset, cut, dropped;
};

struct receiver {
	const struct config *config;
	sd_event *event;
	sd_event_source *wake_source;
	struct timer tick;
	sd_event_source **listeners;
	size_t n_listeners;
	int wake_fd;
	struct commit_thread *commit_thread;
	struct commit_thread_state state;
	struct control_server *control;
	struct opened_file file; /* the archive's file, to notice that it is deleted */
	unsigned ticks;
	struct notice *collector;
	struct stream *streams;
	unsigned n_streams;
	struct guest *guests;
	uint64_t offers;    /* tag of the question to the collector which guests offer a profile; 0 = none is open */
	uint64_t offers_at; /* when that question was sent, CLOCK_MONOTONIC ns */
	struct batch batch; /* the batch that grows until it is given to the commit thread */
	uint64_t given;	    /* bytes of the batch that is being committed */
	uint64_t held;	    /* bytes that were received and are not committed */
	int64_t last_id;
	/*
	 * Since when bytes wait to be given to the commit thread, CLOCK_MONOTONIC ns; 0 = none wait.
	 */
	uint64_t oldest;
	struct accounts accounts;
	struct receiver_counts counts;
	uint64_t seen_bytes; /* value of counts.bytes at the last tick */
	uint64_t busy;	     /* when many bytes came last, CLOCK_MONOTONIC ns; 0 = there is no memory to return */
	char complaints[COMPLAINTS][STREAM_ADDRESS_MAX]; /* addresses for which receiver_complain() has logged */
	unsigned next_complaint;
	struct log_limit limit;
	struct log_limit recorded; /* limit of the log lines that say that a recording begins or ends */
	bool ending;
	uint64_t end_by; /* when to end the process even if not all is committed, CLOCK_MONOTONIC ns */
	int failed;	 /* -errno that ends the loop; 0 = none */
};

struct receiver_options {
	const char *state; /* directory with the archive */
	const char *run;   /* directory with the sockets */
};

/*
 * Open the archive, the sockets and the connection to the collector. Return 0; or -errno, with a
 * sentence in SENTENCE (SIZE bytes). Call receiver_deinit() also after a failure.
 */
int receiver_init(struct receiver *receiver, const struct config *config, const struct receiver_options *options,
		  char *sentence, size_t size);
/* Run until SIGTERM. Return 0 or -errno. */
int receiver_run(struct receiver *receiver);
void receiver_deinit(struct receiver *receiver);

/*
 * Bytes or items wait: give them to the commit thread after FLUSH_NS, or at once if they are many.
 */
void receiver_dirty(struct receiver *receiver);
/*
 * Return how many of BYTES ACCOUNT may receive. If it may receive all, *REASON is NULL; else *REASON says why
 * not ("disk", "overrun", "quota" or "rate"), which is also counted.
 */
uint64_t receiver_room(struct receiver *receiver, struct account *account, uint64_t bytes, const char **reason);
/*
 * Count bytes from ADDRESS that are no profile, and log that once per address. WHAT completes the
 * sentence "what came from a guest".
 */
void receiver_complain(struct receiver *receiver, const char *address, const char *what);

/* ---- guest-listener.c ---- */

struct sockaddr_storage;

/*
 * Listen on TEXT (HOST:PORT) for guests. Return 0; or -errno, with a sentence in SENTENCE (SIZE
 * bytes).
 */
int receiver_listen(struct receiver *receiver, const char *text, char *sentence, size_t size);
/*
 * Parse a numeric address such as "10.0.0.1" or "::1" into *STORE; *LEN is its size. Return false
 * if TEXT is no such address.
 */
bool address_parse(const char *text, uint32_t port, struct sockaddr_storage *store, unsigned *len);
/*
 * Write an address as text (STREAM_ADDRESS_MAX bytes at most), and its port into *PORT. An IPv4
 * address mapped into IPv6 is written as IPv4.
 */
void address_text(const struct sockaddr_storage *store, char *text, uint32_t *port);

/* ---- receiver-control.c ---- */

/* Answer a request on the control socket. */
control_request receiver_request;
/* Answer the requests whose items in DONE are committed. */
void receiver_answers(struct receiver *receiver, struct batch *done);

#endif
