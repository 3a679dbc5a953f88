/*
 * The threads of one stream as far as numbers about them go: which there are, which end, which run for how long.
 *
 * Bounded: where there are more than so many, those that have ended are forgotten first.
 */
#ifndef CTL_THREAD_STATS_H
#define CTL_THREAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#define THREAD_STAT_NONE     UINT32_MAX
#define THREAD_STATS_BUSIEST 10u

enum thread_stat_flag {
	THREAD_STAT_ENDED = 1,
	THREAD_STAT_EXPECTED = 2, /* marked: it should resolve */
};

struct thread_stat {
	int64_t id;
	uint64_t running_ns;
	uint32_t alias; /* what it has become, itself where it has not */
	uint32_t label; /* its first one, a number of the caller's */
	uint8_t type;
	uint8_t flags;
};

struct thread_stats {
	struct thread_stat *list;
	uint32_t n, room, most;
	uint32_t *index;     /* by id, open addressing, ROSTER_NONE = free */
	uint32_t index_room; /* a power of two */
	uint64_t factor;     /* odd, and not known to the writer of a trace */
	/* The most busy of those that were forgotten; the others are in the list. */
	struct thread_stat retired[THREAD_STATS_BUSIEST];
	uint32_t retired_n;
	uint64_t forgotten;   /* threads */
	uint64_t untracked;   /* events of threads that there was no room for */
	uint64_t retry_at;    /* so many of those: try again to forget some */
	uint64_t preexisting; /* threads that were first met without their creation */
	uint64_t sleeping_ns;
	/* Who runs: a thread, or nobody (the program sleeps), or it is not known yet. */
	enum { RUNNING_UNKNOWN, RUNNING_NOTHING, RUNNING_THREAD } state;
	uint32_t running;
	uint64_t since;
	bool cut; /* the running thread ended at CUT_NS, or had before */
	uint64_t cut_ns;
	/* The piece of time that counts. */
	uint64_t from, to;
	bool failed; /* no memory */
};

/* At most MOST threads at once (at least 16). */
void thread_stats_init(struct thread_stats *r, uint32_t most);
void thread_stats_deinit(struct thread_stats *r);

/* The next event.  LABEL is the number of a label's string, ROSTER_NONE for any other event; MARKER: it is the one that says that the
 * thread should resolve. */
void thread_stats_event(struct thread_stats *r, const struct mprof_raw_event *e, uint32_t label, bool marker);

/* The trace is over at NS. */
void thread_stats_end(struct thread_stats *r, uint64_t ns);

/* What has become of thread I of the list. */
uint32_t thread_stats_alias(struct thread_stats *r, uint32_t i);

/* The threads that ran for longest, the longest first, into OUT (ROSTER_BUSIEST of them fit); returns how many. */
size_t thread_stats_busiest(const struct thread_stats *r, struct thread_stat *out);

#endif
