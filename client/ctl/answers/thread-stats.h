/*
 * Statistics on the threads of one stream: which threads exist, end, and run for how long.
 *
 * The number of threads in memory is bounded. At the limit the table forgets threads that have
 * ended.
 */
#ifndef CTL_THREAD_STATS_H
#define CTL_THREAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#include "id-index.h"

#define THREAD_STAT_NONE     ID_INDEX_NONE
#define THREAD_STATS_BUSIEST 10u

enum thread_stat_flag {
	THREAD_STAT_ENDED = 1,
	THREAD_STAT_EXPECTED = 2, /* has the marker label `__should_resolve`: it should resolve */
};

#define THREAD_STAT_NO_LABEL 0x3fffffu /* labels have smaller numbers */

/* In 24 bytes. */
struct thread_stat {
	int64_t id;
	uint64_t running_ns;
	uint32_t alias;		 /* number of the thread that it became; its own number if none */
	unsigned int label : 22; /* number of its first label, which the caller chose */
	unsigned int flags : 2;
	uint8_t type;
};

struct thread_stats {
	struct thread_stat *list;
	uint32_t n, room, most;
	struct id_index ids;
	/* The busiest of the forgotten threads. LIST has the threads that are not forgotten. */
	struct thread_stat retired[THREAD_STATS_BUSIEST];
	uint32_t retired_n;
	uint64_t forgotten;   /* number of forgotten threads */
	uint64_t untracked;   /* events of threads for which there was no room */
	uint64_t retry_at;    /* value of UNTRACKED at which the table tries again to forget threads */
	uint64_t preexisting; /* number of threads whose creation was not seen */
	/* The threads of LIST below this number were there before the last missing event: that may have been their end. */
	uint32_t before_gap;
	uint64_t sleeping_ns;
	/* State of the program: a thread runs, nothing runs (the program sleeps), or unknown. */
	enum { RUNNING_UNKNOWN, RUNNING_NOTHING, RUNNING_THREAD } state;
	uint32_t running;
	uint64_t since;
	bool ran;   /* the stream has told that a thread runs */
	bool slept; /* the stream has told of a time in which no thread ran */
	bool cut;   /* the running thread ended at CUT_NS or earlier */
	uint64_t cut_ns;
	/* The counted period in ns. */
	uint64_t from, to;
	bool failed; /* out of memory */
};

/* Keep at most MOST threads in memory (at least 16). */
void thread_stats_init(struct thread_stats *s, uint32_t most);
void thread_stats_deinit(struct thread_stats *s);

/*
 * Count event E, the next one in the stream. LABEL is the number of a label event's text, or
 * THREAD_STAT_NONE for other events. MARKER is true if that label marks a thread that should
 * resolve.
 */
void thread_stats_event(struct thread_stats *s, const struct mprof_raw_event *e, uint32_t label, bool marker);

/* Events of the stream may be missing since NS, the time of the latest one: which thread runs is unknown until an event tells. */
void thread_stats_gap(struct thread_stats *s, uint64_t ns);
/* Some events of the stream are missing before this place, but the latest ones are there. */
void thread_stats_loss(struct thread_stats *s);
/* End the trace at the time NS. */
void thread_stats_end(struct thread_stats *s, uint64_t ns);

/* Return the number of the thread that thread I of LIST became in the end; I if it became none. */
uint32_t thread_stats_alias(struct thread_stats *s, uint32_t i);

/*
 * Write the threads that ran longest to OUT, which has room for THREAD_STATS_BUSIEST, the longest
 * first. Return their number.
 */
size_t thread_stats_busiest(const struct thread_stats *s, struct thread_stat *out);

#endif
