/*
 * One request and its answer.
 *
 * A handler is called when the request is whole, and again after each wait that it asked for, until
 * it has answered. It keeps its state in WORK between the calls. A body that outlives the handler
 * belongs to the response.
 */
#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

#include <jansson.h>
#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "memtraces-reader.h"
#include "message.h"
#include "reader.h"
#include "request.h"
#include "response-cache.h"
#include "services.h"

#define EXCHANGE_UPLOAD_MAX 65536u
#define EXCHANGE_NOTE_MOST  4096u	/* bytes of a note */
#define EXCHANGE_STEP_NS    10000000ull /* a handler yields to other clients after this time */
#define EXCHANGE_BLOCK	    65536u	/* bytes of a body that are handed over at a time */

struct client;
struct http;
struct live;
struct events;
struct route;

enum method { METHOD_GET, METHOD_POST, METHOD_PATCH, METHOD_DELETE, METHODS };

enum outcome {
	OUTCOME_DONE,	/* answered */
	OUTCOME_AGAIN,	/* call again, after other clients had their turn */
	OUTCOME_ANSWER, /* call again when the collector or the sink has answered */
};

enum wait { WAIT_NONE, WAIT_AGAIN, WAIT_ANSWER, WAIT_COMMIT, WAIT_EVENT };

/* The answer of the collector or the sink to this exchange. */
struct answer {
	uint64_t tag;	   /* 0 = nothing was asked */
	uint64_t deadline; /* CLOCK_MONOTONIC ns */
	bool arrived;
	bool ok;
	unsigned status; /* HTTP status of a refusal */
	bool sink;	 /* the sink was asked */
	uint64_t capture, recording;
	uint64_t archiving, source;
	char *text; /* sentence or metrics; owned; NULL = none */
};

struct exchange {
	struct http *http;
	struct exchange *previous, *next; /* in the list of all exchanges */
	struct MHD_Connection *connection;
	struct client *client;
	bool tcp;
	bool http10; /* the client takes no chunked bodies */
	struct request request;
	enum request_status parsed;
	const struct route *route;
	const char *parameter; /* the path's {domain}, {id} or {file}; NULL = none */
	enum method method;
	bool begun, answered;
	char *upload;
	size_t upload_bytes;
	enum wait wait;
	sd_event_source *answer_timer;	/* while it waits for an answer */
	bool gone;			/* the client takes nothing more, or the server stops */
	int hold;			/* a descriptor that holds back deletion; -1 = none */
	uint64_t hold_tried;		/* CLOCK_MONOTONIC ns of the first attempt; 0 = none */
	sd_event_source *hold_timer;	/* ends the hold */
	bool keep;			/* the answer may be kept ... */
	struct archive_state made_from; /* ... if the archives still have this state when it is ready */
	struct answer answer;
	struct live *live;	/* the live body; NULL = none */
	struct events *events;	/* the body of events; NULL = none */
	struct exchange **back; /* the body's pointer to this exchange, cleared when this ends first */
	void *work;
	void (*work_free)(void *work);
};

/* Return the services that handlers work with; the other three return the most frequent ones. */
const struct services *exchange_services(const struct exchange *x);
struct reader *exchange_reader(const struct exchange *x);
struct memtraces_reader *exchange_memtraces(const struct exchange *x);
struct scratch *exchange_scratch(const struct exchange *x);

/*
 * Hold back the deletion of packets for the first seconds of a body. Call it before the packets are
 * chosen. False: something is being deleted now; return OUTCOME_AGAIN.
 */
bool exchange_hold(struct exchange *x);

/* Return a request header, or NULL. */
const char *exchange_header(struct exchange *x, const char *name);

/* Answer. Each returns OUTCOME_DONE. */
enum outcome exchange_json(struct exchange *x, unsigned status, json_t *json); /* steals JSON; NULL = no memory */
enum outcome exchange_created(struct exchange *x, const char *location, json_t *json);
enum outcome exchange_text(struct exchange *x, const char *type, const char *text, size_t bytes);
/* Do not keep the answer: it depends on the time, or lacks something. */
void exchange_forget(struct exchange *x);
enum outcome exchange_empty(struct exchange *x, unsigned status);
/* Steal RESPONSE; NULL = no memory. */
enum outcome exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response);
/*
 * The same for a response whose BYTES lie in memory. If STATUS is 200 and the route is KEPT, the
 * next equal request gets this response again, until an archive changes.
 */
enum outcome exchange_respond_memory(struct exchange *x, unsigned status, struct MHD_Response *response, size_t bytes);
__attribute__((format(printf, 3, 4))) enum outcome exchange_problem(struct exchange *x, unsigned status,
								    const char *format, ...);
/* Steal MORE, further members of the problem. */
enum outcome exchange_problem_with(struct exchange *x, unsigned status, const char *detail, json_t *more);
enum outcome exchange_not_allowed(struct exchange *x, const char *allow);
/* Answer RC of a reader, which is not 0; ABSENT is the sentence for ARCHIVE_E_ABSENT. */
enum outcome exchange_reader_problem(struct exchange *x, int rc, const char *absent);

/*
 * Ask the collector: begin a message, add to it, send it. Wait for the answer for at most TIMEOUT
 * ns. False: the collector is not connected; answer with exchange_no_collector.
 */
#define EXCHANGE_TIMEOUT_STATUS 1500000000ull /* for what the daemon can answer at once */
#define EXCHANGE_TIMEOUT_CHANGE 5000000000ull /* for what it must commit first */
void exchange_ask(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		  uint64_t timeout);
/* Begin a message to the sink instead. */
void exchange_ask_sink(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		       uint64_t timeout);
bool exchange_send(struct exchange *x, const struct message_writer *w);
enum outcome exchange_no_collector(struct exchange *x);
/* Answer for a daemon that was asked for a change and left, or took too long. */
enum outcome exchange_unanswered(struct exchange *x);
/* Answer the problem that the daemon answered. */
enum outcome exchange_refused(struct exchange *x);

/* Return whether a streaming body must end: its client sent FIN or is gone, or the server stops. */
bool exchange_must_end(const struct exchange *x);

/* Suspend X until WAIT comes true or its client is gone. Call it in a callback of X. */
void exchange_suspend(struct exchange *x, enum wait wait);
/* Resume X: call its handler or its body again. */
void exchange_resume(struct exchange *x);

/* Read number KEY of the query, LEAST to MOST; DEFAULT_ if it is absent. False: answered. */
bool exchange_number(struct exchange *x, const char *key, uint64_t least, uint64_t most, uint64_t default_,
		     uint64_t *value);

/*
 * Parse the upload as an object (an empty one if nothing came) with no members but those in
 * ALLOWED, which ends with NULL. False: answered. The caller owns *OBJECT in both cases.
 */
bool exchange_upload(struct exchange *x, const char *const *allowed, json_t **object);
/* Return the member note of OBJECT in *NOTE, borrowed; NULL if there is none. False: answered. */
bool exchange_upload_note(struct exchange *x, json_t *object, const char **note);

#endif
