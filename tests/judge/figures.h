/* Count the sentences, and those that the truth contradicts. */
#ifndef JUDGE_FIGURES_H
#define JUDGE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Sentences: a name for options and lists of known faults, and their wording. */
#define SENTENCES(X)                                                                            \
	X(RESOLVED, "resolved", "X was resolved at T")                                          \
	X(UNRESOLVED, "unresolved", "X is not resolved")                                        \
	X(WAITS, "waits", "X waits on Y since T")                                               \
	X(HOLDS, "holds", "lock X waits on Y, its holder")                                      \
	X(CYCLE, "cycle", "deadlock: each thread of this cycle waits for the next")             \
	X(MISSED, "missed", "missed wake-up: C was signalled by Y at T, when nobody waited")    \
	X(NO_LATER, "no-later", "and no signal came from then to the end")                      \
	X(NONE_CAME, "none-came", "X waits for a signal of C. None came")                       \
	X(TAKEN, "taken", "the last one before, by Y, came while a thread waited")              \
	X(NOR_BEFORE, "nor-before", "None came, nor any before")                                \
	X(SIGNALLED, "signalled", "Signalled N times since, still not resolved")                \
	X(NOTHING_RESOLVED, "nothing-resolved", "and nothing has resolved it")                  \
	X(NOT_WOKEN, "not-woken", "X was resolved, and what waits on it has not run since")     \
	X(MISSED_RESOLUTION, "missed-resolution", "X was resolved before it was looked at")     \
	X(HOLDER_ENDED, "holder-ended", "its holder Y ended without releasing it")              \
	X(OUTSIDE, "outside", "its holder Y is no thread of this process")                      \
	X(IDLE_OR_MISSED, "idle-or-missed", "idle, or missed: the last signal woke nobody")     \
	X(LIKE, "like", "the last one like it was resolved by Y at T")                          \
	X(CREATOR, "creator", "X was created by Y")                                             \
	X(SLEPT, "slept", "then the program slept")                                             \
	X(CAUSE_OF_HEALTHY, "healthy", "a cause, of a program that is healthy")                 \
	X(STATE, "state", "threads: the state of X")                                            \
	X(ENDS, "ends", "threads: X ended at T")                                                \
	X(SHARE, "share", "stats: the share of time asleep")                                    \
	X(RUNNING, "running", "stats: how long X ran")                                          \
	X(ALIKE, "alike", "diff: a trace is like itself")                                       \
	X(DIFF_NEVER, "diff-never", "diff: X is never resolved in one of the runs")             \
	X(DIFF_NOTHING, "diff-nothing", "diff: X does nothing more in one of the runs")         \
	X(DIFF_NONE, "diff-none", "diff: a run has no such thread, or no such counter")         \
	X(AREA_THREADS, "area-threads", "area: the number of threads of a label")               \
	X(AREA_ALIVE, "area-alive", "area: how long they lived")                                \
	X(AREA_SUMS, "area-sums", "area: they ran and waited while they lived")                 \
	X(AREA_NONE, "area-none", "area: they did not run, no packet is missing")               \
	X(EXPORTS, "exports", "export: the sum of the durations of a name")                     \
	X(LOST, "lost", "stats: N packets are missing")                                         \
	X(IS_CAUSE, "is-cause", "why: this is the cause of a hang")                             \
	X(CAUSE_LISTED, "cause-listed", "why: each proven cause is listed without a name")      \
	X(WAITING, "waiting", "why: N threads wait for the same")                               \
	X(NOTHING_STUCK, "nothing-stuck", "why: nothing here is stuck")                         \
	X(NAMED_WHOLE, "named-whole", "the cause of a hang, with everything visible, is named") \
	X(NAMED_HIDDEN, "named-hidden", "the cause of a hang that the rest proves is named")    \
	X(NAMED_UNTOLD, "named-untold", "the same, where the recorder did not write a holder")

enum sentence {
#define X(id, name, text) SENTENCE_##id,
	SENTENCES(X)
#undef X
		SENTENCE_COUNT,
};

struct figure {
	uint64_t said, wrong, answers, wrong_answers;
	uint64_t wrong_whole; /* with nothing hidden */
	uint64_t seed;	      /* of the first wrong one */
	char what[160];
};

struct figures {
	struct figure of[SENTENCE_COUNT];
	uint64_t seed; /* that is being judged */
	bool verbose;
	bool whole;	/* nothing of the trace is hidden */
	uint64_t wrong; /* of this seed */
	uint64_t wrong_histories;
	/* Sentences of this history, and wrong ones. */
	bool here[SENTENCE_COUNT], wrong_here[SENTENCE_COUNT];
};

/* A sentence is said; GOOD: the truth does not contradict it. FORMAT says what is wrong. */
void figures_note(struct figures *f, enum sentence sentence, bool good, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Begin the history of SEED. */
void figures_begin(struct figures *f, uint64_t seed);
/* End it: add up. */
void figures_end(struct figures *f);
const char *figures_name(enum sentence sentence);
/*
 * Return in how many of 1,000 histories that have SENTENCE it may be wrong: 0, but for the names of causes, of which some
 * may be missing.
 */
unsigned figures_most(enum sentence sentence);
/* Print a table to OUT. */
void figures_print(const struct figures *f, FILE *out);

#endif
