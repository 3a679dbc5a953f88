/*
 * An exchange: one request and its answer.
 *
 * The handler of the route is called when the request is complete. If it returns OUTCOME_AGAIN or
 * OUTCOME_ANSWER, it is called again after that wait, until it has answered. It keeps its state
 * between the calls in WORK. Data that the body needs after the last call is owned by the response.
 */
#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

#include <jansson.h>
#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "access.h"
#include "memtraces-reader.h"
#include "message.h"
#include "reader.h"
#include "request.h"
#include "response-cache.h"
#include "services.h"
#include "timer.h"

#define EXCHANGE_UPLOAD_MAX 65536u
#define EXCHANGE_NOTE_MOST  4096u  /* bytes of a note, at most */
#define EXCHANGE_MARKS_MOST 16384u /* bytes of a capture's marks as JSON, at most */
/* Ns after which a handler returns OUTCOME_AGAIN, so that other clients are served. */
#define EXCHANGE_STEP_NS 10000000ull
/* Bytes of a body that are passed to libmicrohttpd at a time; the second is for long bodies. */
#define EXCHANGE_BLOCK	    65536u
#define EXCHANGE_LONG_BLOCK 262144u

struct client;
struct http;
struct live;
struct events;
struct route;

enum method { METHOD_GET, METHOD_POST, METHOD_PATCH, METHOD_DELETE, METHODS };

enum outcome {
	OUTCOME_DONE,	/* the request is answered */
	OUTCOME_AGAIN,	/* call the handler again, after other clients were served */
	OUTCOME_ANSWER, /* call the handler again when the collector or the sink has answered */
	OUTCOME_ACCESS, /* call the handler again when the registry of tokens and sessions knows more */
};

enum wait { WAIT_NONE, WAIT_AGAIN, WAIT_ANSWER, WAIT_NEWEST, WAIT_COMMIT, WAIT_EVENT, WAIT_ACCESS };

/* The answer of the collector or the sink to this exchange's question. */
struct answer {
	uint64_t tag;	   /* tag of the question; 0 = nothing was asked */
	uint64_t deadline; /* when to give up waiting, CLOCK_MONOTONIC ns */
	bool arrived;
	bool late; /* the deadline has passed; otherwise the daemon has left */
	bool ok;
	unsigned status; /* HTTP status, if OK is false */
	bool sink;	 /* the question went to the sink, not to the collector */
	uint64_t capture, recording;
	uint64_t archiving, source;
	char *text; /* a sentence, or metrics; owned; NULL = none */
};

struct exchange {
	struct http *http;
	struct exchange *previous, *next; /* in the list of all exchanges */
	struct MHD_Connection *connection;
	struct client *client;
	bool tcp;
	bool tls;
	bool http10;	    /* HTTP/1.0: the client does not understand chunked bodies */
	bool ambiguous;	    /* the header does not say in one way where the body ends: no answer but 400 */
	bool too_long;	    /* the header announces a body that is not read: no answer but 413 */
	bool closes;	    /* the connection is closed after the answer */
	const char *target; /* in libmicrohttpd's buffer, valid until the header is checked; TARGET_BYTES as it came */
	size_t target_bytes;
	struct request request;
	enum request_status parsed;
	const struct route *route;
	struct identity who; /* nobody, until the request is authorised */
	bool authorised;
	uint64_t
		access_deadline; /* when to give up waiting for the registry, CLOCK_MONOTONIC ns; 0 = it never waited */
	/*
	 * The scope whose guests the readers show while the handler runs; SEES is false if they show
	 * all.
	 */
	enum scope scope;
	bool sees;
	/*
	 * The reader of the copy of a capture with which the handler works, on a hub; NULL: the
	 * server's. COPY_FREE releases COPY, which has it, when the exchange ends.
	 */
	struct reader *reader;
	uint64_t
		damages[3]; /* what is known to be damaged in that capture: places, bytes, events (schema/reading.md) */
	void *copy;
	void (*copy_free)(void *copy);
	const char *parameter; /* {domain}, {id} or {file} of the path; NULL = none */
	enum method method;
	bool head; /* HEAD: METHOD_GET, and the client gets no body */
	bool begun, answered;
	char *upload;
	size_t upload_bytes;
	enum wait wait;
	struct timer answer_timer; /* the deadline of ANSWER, during WAIT_ANSWER */
	bool gone;		   /* the client reads nothing any more, or the server stops */
	int hold;		   /* descriptor of the lock that delays deletion; -1 = none */
	uint64_t hold_tried;	   /* first attempt to take the lock, CLOCK_MONOTONIC ns; 0 = none */
	struct timer hold_timer;   /* releases the lock */
	int64_t live_run;	   /* run of a live body, which ends when its guest gets a hidden name; 0 = none */
	uint64_t newest_asked;	   /* when the collector was asked to commit, CLOCK_MONOTONIC ns; 0 = it was not */
	bool handled;		   /* its handler was called */
	bool late;		   /* the collector did not commit in time: the answer may be old */
	bool lacks_header; /* there was no memory for a header of the answer: it is not sent, and the connection is closed */
	bool keep;	   /* the answer may be stored in the cache */
	/*
	 * State of the archives when the handler began; the answer is cached only if it is still
	 * the same.
	 */
	struct archive_state made_from;
	struct answer answer;
	struct live *live;     /* the live body; NULL = the answer is none */
	struct events *events; /* the body of /v1/events; NULL = the answer is none */
	/*
	 * Pointer to this exchange inside the body; set to NULL if the exchange ends before the
	 * body.
	 */
	struct exchange **back;
	void *work;
	void (*work_free)(void *work);
};

/*
 * Return the services with which handlers work. The three functions below return single services.
 */
const struct services *exchange_services(const struct exchange *x);
struct reader *exchange_reader(const struct exchange *x);
struct memtraces_reader *exchange_memtraces(const struct exchange *x);
struct access *exchange_access(const struct exchange *x);
struct scratch *exchange_scratch(const struct exchange *x);

/*
 * Find out whether X, of a route that wants the newest state, can be handled. Return false if it
 * waits for the collector's commit. If that does not come in time, LATE is set.
 */
bool exchange_newest(struct exchange *x);

/*
 * Delay the deletion of packets for the first seconds of a body. Call it before the packets are
 * selected. Return false if a deletion is running: the handler then returns OUTCOME_AGAIN.
 */
bool exchange_hold(struct exchange *x);

/*
 * Return the credentials of X, borrowed until it ends. exchange_authorise() needs them, and the
 * handlers that sign somebody in.
 */
struct credentials exchange_credentials(struct exchange *x);
/*
 * STATUS, which is not ACCESS_OK, is what access.h says about X, and WHY its sentence. Answer with them;
 * or return OUTCOME_ACCESS, if it is worth waiting for.
 */
enum outcome exchange_unauthorised(struct exchange *x, enum access_status status, const char *why);

/* Return the value of the request header NAME, or NULL. */
const char *exchange_header(struct exchange *x, const char *name);

/* Answer the request. All of these functions return OUTCOME_DONE. */
/* Releases JSON; NULL = out of memory. */
enum outcome exchange_json(struct exchange *x, unsigned status, json_t *json);
/* The same, with a further HEADER; NULL = none. */
enum outcome exchange_json_with(struct exchange *x, unsigned status, json_t *json, const char *header,
				const char *value);
enum outcome exchange_created(struct exchange *x, const char *location, json_t *json);
enum outcome exchange_text(struct exchange *x, const char *type, const char *text, size_t bytes);
/* Do not cache the answer, because it depends on the time, or lacks something. */
void exchange_forget(struct exchange *x);
enum outcome exchange_empty(struct exchange *x, unsigned status);
/*
 * Add a header to RESPONSE, the answer to X. Copy NAME and VALUE. If there is no memory for it, nothing is answered: the
 * connection is closed.
 */
void exchange_add_header(struct exchange *x, struct MHD_Response *response, const char *name, const char *value);
/* Answer with RESPONSE and release it; NULL = out of memory. */
enum outcome exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response);
/*
 * Do the same with a response whose body of BYTES is in memory. If STATUS is 200 and the route is
 * KEPT, the response is cached: the next equal request gets it, until an archive changes.
 */
enum outcome exchange_respond_memory(struct exchange *x, unsigned status, struct MHD_Response *response, size_t bytes);
__attribute__((format(printf, 3, 4))) enum outcome exchange_problem(struct exchange *x, unsigned status,
								    const char *format, ...);
/* Answer with a problem document that also has the members of MORE. Release MORE. */
enum outcome exchange_problem_with(struct exchange *x, unsigned status, const char *detail, json_t *more);

/* Answer a Range that begins behind the end of a body of TOTAL bytes. */
enum outcome exchange_unsatisfiable(struct exchange *x, uint64_t total);
/*
 * Return a response whose body READ makes, of unknown length, or NULL. BLOCK, READ, CONTEXT and DONE as for
 * MHD_create_response_from_callback().
 */
struct MHD_Response *exchange_stream(struct exchange *x, size_t block, MHD_ContentReaderCallback read, void *context,
				     MHD_ContentReaderFreeCallback done);
/*
 * Return a response for MHD_HTTP_NOT_MODIFIED, or NULL. TOTAL is the length of the body that a request without If-None-Match would get, or
 * MHD_SIZE_UNKNOWN.
 */
struct MHD_Response *exchange_unchanged(uint64_t total);
/* Return true if the request has no If-Match, or one that has ETAG, which includes its quotes; else answer 412. */
bool exchange_if_match(struct exchange *x, const char *etag);
enum outcome exchange_not_allowed(struct exchange *x, const char *allow);
/* Answer the error RC of a reader, which is not 0. ABSENT is the sentence for ARCHIVE_E_ABSENT. */
enum outcome exchange_reader_problem(struct exchange *x, int rc, const char *absent);

/*
 * Ask the collector: begin a message with exchange_ask(), add to it, and send it with
 * exchange_send(). The answer is awaited for at most TIMEOUT ns. exchange_send() returns false if
 * the daemon is not connected; answer then with exchange_no_collector().
 */
#define EXCHANGE_TIMEOUT_STATUS 1500000000ull /* for questions that the daemon answers at once */
#define EXCHANGE_TIMEOUT_CHANGE 5000000000ull /* for changes that the daemon must commit before it answers */
void exchange_ask(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		  uint64_t timeout);
/* As exchange_ask(), but the message goes to the sink, not to the collector. */
void exchange_ask_sink(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		       uint64_t timeout);
bool exchange_send(struct exchange *x, const struct message_writer *w);
enum outcome exchange_no_collector(struct exchange *x);
/* Answer that a daemon was asked for a change and has left, or did not answer in time. */
enum outcome exchange_unanswered(struct exchange *x);
/* Answer with the error that the daemon has sent. */
enum outcome exchange_refused(struct exchange *x);

/*
 * Return whether a streaming body must end: the client has sent FIN or is gone, or the server
 * stops.
 */
bool exchange_must_end(const struct exchange *x);

/* Suspend X until WAIT is over or the client is gone. Call it in a callback of X only. */
void exchange_suspend(struct exchange *x, enum wait wait);
/* Resume X: its handler or its body is called again. */
void exchange_resume(struct exchange *x);

/*
 * Set *VALUE to the number KEY of the query, or to DEFAULT_ if the query does not have it. Return
 * false if it is no number from LEAST to MOST; the request is then answered.
 */
bool exchange_number(struct exchange *x, const char *key, uint64_t least, uint64_t most, uint64_t default_,
		     uint64_t *value);

/*
 * Parse the upload as a JSON object; an empty upload gives an empty object. The object may have
 * only the members in ALLOWED, which ends with NULL. Return false if it is invalid; the request is
 * then answered. The caller owns *OBJECT in both cases.
 */
bool exchange_upload(struct exchange *x, const char *const *allowed, json_t **object);
/*
 * Set *NOTE to the member `note` of OBJECT, borrowed, or to NULL if there is none. Return false if
 * it is invalid; the request is then answered.
 */
bool exchange_upload_note(struct exchange *x, json_t *object, const char **note);

#endif
