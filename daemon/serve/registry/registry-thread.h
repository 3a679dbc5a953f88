/*
 * The thread of the fleet's registry: it asks the hub's database, so that the event loop never waits
 * for it. It has one batch of questions at a time.
 */
#ifndef SERVE_REGISTRY_THREAD_H
#define SERVE_REGISTRY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "identity.h"
#include "secret.h"

#define BATCH_QUESTIONS 256u
#define BATCH_CHANGES	16u
#define REGISTRY_NAME	TLS_NAME /* bytes of a name, with NUL */

/* An identity that is asked about. */
struct registry_key {
	enum identity_kind kind;   /* IDENTITY_TOKEN, _SESSION, _CERTIFICATE or _USER */
	char name[REGISTRY_NAME];  /* a token's identifier, a common name, a user; "" for a session */
	uint8_t hash[SECRET_HASH]; /* of a token's secret or a session's cookie; else zeros */
};

/* A question of schema/fleet's access_check(), and its answer. */
struct batch_question {
	struct registry_key key;
	bool holds;
	char token[TOKEN_ID_TEXT], name[TOKEN_NAME_MAX], scopes[SCOPES_TEXT_MAX];
	uint64_t expires; /* seconds since 1970; 0 = never */
};

/* A call of begin_session(), or of end_session() if TOKEN is "", and what it returned. */
struct batch_change {
	uint64_t ticket;
	uint8_t hash[SECRET_HASH];
	char token[TOKEN_ID_TEXT];
	uint8_t token_hash[SECRET_HASH];
	uint64_t seconds; /* of the session's life */
	bool asked, done; /* it was answered; DONE: and the answer was not NULL */
	uint64_t expires;
};

struct batch {
	struct batch_question questions[BATCH_QUESTIONS];
	struct batch_change changes[BATCH_CHANGES];
	unsigned n_questions, n_changes;
	/* Set by the thread. */
	bool answered;	    /* the questions were answered; else SENTENCE says why not */
	uint64_t asked;	    /* when it began to ask, CLOCK_MONOTONIC ns */
	char sentence[512]; /* one line */
};

struct registry_thread;

/*
 * Start the thread for CONNECTION, libpq's connection string. Return 0, with the thread in *TP, or
 * -errno.
 */
int registry_thread_new(struct registry_thread **tp, const char *connection);
/* End the thread: wait until it has finished its statement. Return NULL. */
struct registry_thread *registry_thread_free(struct registry_thread *t);
CLEANUP_DEFINE(struct registry_thread, registry_thread_free)

/* Return the descriptor that is readable when a batch is done, or a hint has come. */
int registry_thread_fd(const struct registry_thread *t);
/*
 * Return the batch, if the thread does not work on it, else NULL. The caller reads its answers, fills it
 * and hands it over by registry_thread_begin().
 */
struct batch *registry_thread_batch(struct registry_thread *t);
void registry_thread_begin(struct registry_thread *t);
/* Make the descriptor unreadable. Return whether a hint has come: somebody lost something. */
bool registry_thread_take(struct registry_thread *t);

#endif
