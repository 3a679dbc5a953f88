/*
 * One request and its answer.
 *
 * A handler is called when the request is there, and again after each wait that it asked for, until it has answered.  What it wants to keep
 * until then is its WORK.  A body that outlives the handler belongs to the response.
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
#include "services.h"

#define EXCHANGE_UPLOAD_MAX 65536u
#define EXCHANGE_NOTE_MOST  4096u	/* bytes of a note */
#define EXCHANGE_STEP_NS    10000000ull /* a handler yields to other clients after so long */
#define EXCHANGE_BLOCK	    65536u	/* of a body that is handed over at a time */

struct client;
struct http;
struct live;
struct events;
struct route;

enum method { METHOD_GET, METHOD_POST, METHOD_PATCH, METHOD_DELETE, METHODS };

enum outcome {
	OUTCOME_DONE,	/* it was answered */
	OUTCOME_AGAIN,	/* there is more to do: let others run, then call again */
	OUTCOME_ANSWER, /* call again when the collector has answered */
};

enum wait { WAIT_NONE, WAIT_AGAIN, WAIT_ANSWER, WAIT_COMMIT, WAIT_EVENT };

/* The collector's, or the sink's, answer to what this exchange asked. */
struct answer {
	uint64_t tag;	   /* 0 = nothing was asked */
	uint64_t deadline; /* CLOCK_MONOTONIC ns */
	bool arrived;
	bool ok;
	unsigned status; /* where not OK */
	bool sink;	 /* it was asked of the sink */
	uint64_t capture, recording;
	uint64_t archiving, source;
	char *text; /* sentence or metrics; NULL = none */
};

struct exchange {
	struct http *http;
	struct exchange *previous, *next; /* of HTTP's exchanges */
	struct MHD_Connection *connection;
	struct client *client;
	bool tcp;
	bool http10; /* no chunked bodies */
	struct request request;
	enum request_status parsed;
	const struct route *route;
	const char *parameter; /* the path's {domain} or {id}; NULL = none */
	enum method method;
	bool begun, answered;
	char *upload;
	size_t upload_bytes;
	enum wait wait;
	sd_event_source *answer_timer; /* while it waits for an answer */
	bool gone;		       /* its client takes nothing more, or the server stops */
	int hold;		       /* on deletion; -1 = none ... */
	uint64_t hold_tried;	       /* ... and since when it was tried, CLOCK_MONOTONIC ns */
	sd_event_source *hold_timer;   /* when it lets go */
	struct answer answer;
	struct live *live;     /* the live body; NULL = none */
	struct events *events; /* the body of events; NULL = none */
	struct exchange *
		*back; /* that body's pointer to this exchange, which is cleared when the exchange ends first */
	void *work;
	void (*work_free)(void *work);
};

/* The services that handlers work with, and the three that most of them need. */
const struct services *exchange_services(const struct exchange *x);
struct reader *exchange_reader(const struct exchange *x);
struct memtraces_reader *exchange_memtraces(const struct exchange *x);
struct scratch *exchange_scratch(const struct exchange *x);

/*
 * Hold back what deletes packets, for the first seconds of a body, before its packets are chosen.  False: something is being deleted at this moment;
 * the handler is to be called AGAIN.
 */
bool exchange_hold(struct exchange *x);

/* A request header, or NULL. */
const char *exchange_header(struct exchange *x, const char *name);

/* Answer.  Each returns OUTCOME_DONE. */
enum outcome exchange_json(struct exchange *x, unsigned status, json_t *json); /* steals JSON; NULL: no memory */
enum outcome exchange_created(struct exchange *x, const char *location, json_t *json);
enum outcome exchange_text(struct exchange *x, const char *type, const char *text, size_t bytes);
enum outcome exchange_empty(struct exchange *x, unsigned status);
/* Steals RESPONSE; NULL: no memory. */
enum outcome exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response);
__attribute__((format(printf, 3, 4))) enum outcome exchange_problem(struct exchange *x, unsigned status,
								    const char *format, ...);
/* MORE is stolen: further members of the problem. */
enum outcome exchange_problem_with(struct exchange *x, unsigned status, const char *detail, json_t *more);
enum outcome exchange_not_allowed(struct exchange *x, const char *allow);
/* What the reader returned, which is not 0; ABSENT is the sentence for ARCHIVE_E_ABSENT. */
enum outcome exchange_reader_problem(struct exchange *x, int rc, const char *absent);

/*
 * Ask the collector: begin a message, add to it, send it.  The answer is waited for at most TIMEOUT (ns).  False: it is not there (answer with
 * exchange_no_collector).
 */
#define EXCHANGE_TIMEOUT_STATUS 1500000000ull /* for what it can say at once ... */
#define EXCHANGE_TIMEOUT_CHANGE 5000000000ull /* ... and for what it must commit first */
void exchange_ask(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		  uint64_t timeout);
/* The same of the sink, which is then the one that is not there. */
void exchange_ask_sink(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		       uint64_t timeout);
bool exchange_send(struct exchange *x, const struct message_writer *w);
enum outcome exchange_no_collector(struct exchange *x);
/* The collector was asked for a change and left, or took too long. */
enum outcome exchange_unanswered(struct exchange *x);
/* The problem that the collector answered. */
enum outcome exchange_refused(struct exchange *x);

/* Has a body that follows to end: its client sent FIN or is gone, or the server stops? */
bool exchange_must_end(const struct exchange *x);

/* Suspend it until WAIT comes true or its client is gone.  To be called within a callback of its connection. */
void exchange_suspend(struct exchange *x, enum wait wait);
/* Call it again. */
void exchange_resume(struct exchange *x);

/* Query numbers: absent is DEFAULT_.  False: it was answered 400. */
bool exchange_number(struct exchange *x, const char *key, uint64_t least, uint64_t most, uint64_t default_,
		     uint64_t *value);

/*
 * Parse the upload as an object (an empty one if nothing came) with no members but those in ALLOWED, which ends with NULL.  False: it was
 * answered; *OBJECT is the caller's in any case.
 */
bool exchange_upload(struct exchange *x, const char *const *allowed, json_t **object);
/* Return the member note of OBJECT in *NOTE, borrowed; NULL if there is none.  False: it was answered. */
bool exchange_upload_note(struct exchange *x, json_t *object, const char **note);

#endif
