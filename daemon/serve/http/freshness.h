/*
 * How new the trace archive is.
 *
 * mprofd commits seldom, so a reader asks it to commit what it has copied (schema/control.md,
 * `commit`). All requests share one question, and none is asked while the last answer is new.
 */
#ifndef SERVE_FRESHNESS_H
#define SERVE_FRESHNESS_H

#include <stdbool.h>
#include <stdint.h>

struct notice;

#define FRESHNESS_NS	  100000000ull	/* so old a state counts as new */
#define FRESHNESS_WAIT_NS 1000000000ull /* a reader waits no longer */
#define FRESHNESS_LOOK_NS 10000000ull	/* an absent collector is looked for again after this time */

struct freshness {
	struct notice *collector; /* borrowed */
	uint64_t began;		  /* CLOCK_MONOTONIC ns, as the other times */
	uint64_t asked;		  /* when the open question was asked */
	uint64_t absent;	  /* when the collector was last looked for and not found; 0 = never */
	uint64_t tag;		  /* of the open question; 0 = none is open */
	uint64_t at; /* the archive has everything that was copied by then; 0 = this process never learned that */
};

enum freshness_state {
	FRESHNESS_NEW,	 /* or no collector runs, so nothing waits to be committed */
	FRESHNESS_ASKED, /* the collector was asked: wait until freshness_deadline() */
	FRESHNESS_OLD,	 /* the collector does not answer in time */
};

/* COLLECTOR is borrowed. */
void freshness_init(struct freshness *f, struct notice *collector);

/* Find out how new the archive is for a reader at NOW. Ask the collector unless that is known. */
enum freshness_state freshness_ask(struct freshness *f, uint64_t now);
/* Return when to give up waiting, CLOCK_MONOTONIC ns. */
uint64_t freshness_deadline(const struct freshness *f);
/* Return true if the question that was asked at ASKED is answered. */
bool freshness_learned(const struct freshness *f, uint64_t asked);
/* Return true if the question that was asked at ASKED may still be answered in time. */
bool freshness_waits(const struct freshness *f, uint64_t asked, uint64_t now);
/*
 * Take the answer to the question with TAG. OK: the commit was made. Return false if TAG is not that
 * of a question of F.
 */
bool freshness_answer(struct freshness *f, uint64_t tag, bool ok);
/* The connection is lost: the open question gets no answer. */
void freshness_lost(struct freshness *f);

/*
 * Return how old the archive's state can be at NOW, in ns. *AT_LEAST: nothing is known from before
 * this process.
 */
uint64_t freshness_age(const struct freshness *f, uint64_t now, bool *at_least);

#endif
