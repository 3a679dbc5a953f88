/*
 * libmprof: why a thread of a finished model waits.
 *
 *   w = mprof_why_new(mprof_model_view(m));
 *   mprof_why_ask(w, thread, &answer);
 *   for (t = answer.thread; t != answer.root; t = mprof_why_final(w, link->other))
 *           link = &view->interactions[mprof_why_link(w, t)];      // T waits since link->time
 *
 * A thread waits on the thread that it last tried to read and did not find resolved: the
 * interaction `try_read` is a *link*. The chain of links ends at a *root*, a thread that waits on
 * nothing: another thread had to resolve the root, or to signal the *condition* that created it. A
 * condition is a thread of the type Condition, Semaphore, Stream or Mutex. A semaphore or mutex keeps
 * a signal until a thread takes it: a thread that the semaphore itself created and resolved.
 *
 * Traces are untrusted: threads that wait on each other in a cycle have no end of the chain, so one
 * of them is taken as the root. Nothing recurses. The index takes n log n time, about 150 bytes per
 * thread, 30 per interaction and 24 per gap and duration.
 */
#ifndef MPROF_WHY_H
#define MPROF_WHY_H

#include <mprof/coverage.h>
#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mprof_why_verdict {
	MPROF_WHY_RESOLVED, /* the thread is resolved */
	/*
	 * The last signal of the root's condition before the wait for the root (SINCE) came when no
	 * thread waited, none came since (SINCE_COVERAGE has no hole), and the waiting thread cannot have
	 * known of that signal: the recorder says so, or no wait of the thread for the condition has ended before.
	 */
	MPROF_WHY_MISSED_SIGNAL,
	/*
	 * The root was resolved before the waiting thread tried to read it, and the waiting thread
	 * still has not read it.
	 */
	MPROF_WHY_MISSED_RESOLVE,
	/*
	 * The root was resolved after the waiting thread tried to read it, and the waiting thread
	 * has not read it since. Or SINCE_COVERAGE has a hole: then the waiting thread may have read the root, or the
	 * root, which held the lock HELD, may have released it.
	 */
	MPROF_WHY_NOT_WOKEN,
	/*
	 * The root's condition was signalled since the wait for the root began, and yet the root
	 * was not resolved.
	 */
	MPROF_WHY_SIGNALLED_SINCE,
	/*
	 * The trace has no signal of the root's condition since the wait for the root began, and the last
	 * signal before woke a thread, or the trace has none, or SINCE_COVERAGE has a hole.
	 */
	MPROF_WHY_NEVER_SIGNALLED,
	MPROF_WHY_NEVER_RESOLVED, /* the root has no condition, and no thread resolved it */
	/*
	 * Deadlock: threads that wait on each other in a cycle. If a packet is missing or a clock went back since the first of
	 * these waits began, the verdict is MPROF_WHY_NEVER_RESOLVED, and SINCE_COVERAGE has that hole.
	 */
	MPROF_WHY_CYCLE,
	/*
	 * As MPROF_WHY_MISSED_SIGNAL, but the thread may have known of the signal, so it is idle or has
	 * missed it. A semaphore or mutex keeps a signal, so there another thread took it unseen, or the
	 * semaphore was initialised again.
	 */
	MPROF_WHY_IDLE_OR_MISSED,
	MPROF_WHY_HOLDER_ENDED, /* ROOT, the holder of the lock HELD, ended and has not released it */
};

/*
 * Answer about one thread. Threads and signals are indices of the view's threads and interactions;
 * MPROF_NONE when there is none. All signals are those of CONDITION.
 */
struct mprof_why_answer {
	enum mprof_why_verdict verdict;
	uint32_t thread; /* the thread that the given thread became in the end, or the given thread */
	/*
	 * End of the chain that begins at THREAD; THREAD itself if it waits on nothing. For a
	 * cycle, the thread at which the chain enters the cycle.
	 */
	uint32_t root;
	uint32_t links; /* number of waits from THREAD to ROOT */
	/* Number of waits around the cycle, from ROOT to itself; 0 without a cycle. */
	uint32_t cycle;
	uint32_t condition; /* condition that must be signalled to resolve ROOT */
	/*
	 * Start of the wait for ROOT, ns: the creation of ROOT. If ROOT is resolved, is a condition
	 * itself or is in a cycle: the last try_read of the chain.
	 */
	uint64_t since;
	/* Last signal up to SINCE, if no thread waited then, and none took it. */
	uint32_t lost_signal;
	/* Number of signals in a row, up to LOST_SIGNAL, for which no thread waited, and that none took. */
	uint32_t lost_signals;
	uint32_t first_signal_since; /* first signal after SINCE */
	uint32_t signals_since;	     /* number of signals after SINCE */
	uint32_t last_signal;	     /* last signal of all */
	/*
	 * Number of all signals, without those that begin a wait (MPROF_INTERACTION_BEGINS_WAIT).
	 */
	uint32_t signals;
	/*
	 * The last resolved thread that has the same first label as ROOT. If ROOT has no label: the
	 * last resolved thread of ROOT's type and creator.
	 */
	uint32_t similar;
	/*
	 * If ROOT is a condition itself: the last thread of the chain that waits for ROOT, without
	 * waits that a place in the code has created. Else ROOT.
	 */
	uint32_t waiter;
	/*
	 * The last lock of the chain whose holder the trace names, and that holder; in a cycle only if a
	 * thread waits for itself. The lock waits on its holder.
	 */
	uint32_t held;
	uint32_t holder;
	/*
	 * 1 if HOLDER is no thread of the program, and the trace would have it: fork left it behind in the
	 * parent process, or another process shares the lock. Else 0.
	 */
	uint32_t outside;
	uint64_t end; /* end of the trace of THREAD's guest: the latest end of its streams, ns */
	/*
	 * Whether the trace would have each signal of CONDITION, or without one each resolution of ROOT:
	 * SINCE_COVERAGE from LOST_SIGNAL, or else from SINCE, to END; BEFORE_COVERAGE from LAST_SIGNAL, or
	 * else from the beginning of CONDITION, to SINCE. If signals came since: whether the trace would have the end
	 * of the wait. If ROOT is resolved, SINCE_COVERAGE says whether the trace would have the release of HELD since
	 * SINCE, or a read of ROOT since its end. Neither has a meaning in an answer about a cycle or a resolved thread.
	 */
	struct mprof_coverage since_coverage;
	struct mprof_coverage before_coverage;
	/*
	 * The other end of the wait is not in this trace: CONDITION is a stream whose writer does not record
	 * what makes it ready, or ROOT is a wait for no object (a time, a signal of the system, another
	 * process, one of several descriptors).
	 */
	bool elsewhere;
	/*
	 * The other end, if ELSEWHERE and the recorder found it: a Process that must end; a Stream that ROOT has created, whose label says
	 * what that descriptor of epoll watches; or a Stream that stands for a descriptor
	 * or an address (schema/mprof/events.def). FAR_PROCESS is that Process, or the one that has the descriptor, if it is another
	 * one, and FAR_MAIN its main thread, if its rings are in the view.
	 * FAR_HERE: it is this one; and FAR_USER is a thread that waits at that end, MPROF_NONE if the trace has none.
	 */
	uint32_t far_end;
	uint32_t far_process;
	uint32_t far_main;
	uint32_t far_user;
	bool far_here;
	uint64_t far_found; /* when the recorder found it, ns: it may be another one since */
};

/* The last samples of a thread: its state, which is the same in SAMPLES samples in a row. */
struct mprof_why_state {
	enum mprof_state_kind kind;
	uint32_t samples;
	uint64_t from;	       /* time of the first of these samples, ns */
	uint64_t to;	       /* time of the last one, which is the last sample of the thread, ns */
	uint64_t processor_ns; /* processor time that the thread used between these two */
	/* Place in the kernel where the thread slept in the last sample: the string CHANNEL from this byte on; or MPROF_NONE. */
	uint32_t channel;
	uint32_t channel_offset;
};

struct mprof_why;

/*
 * Build the index over VIEW, of a finished model. VIEW must outlive the index. Return NULL without
 * memory.
 */
MPROF_API struct mprof_why *mprof_why_new(const struct mprof_model_view *view);
/* Free W, which may be NULL. Return NULL. */
MPROF_API struct mprof_why *mprof_why_free(struct mprof_why *w);

/*
 * In the calls below, THREAD and STREAM are indices of the view, below its N_THREADS or N_STREAMS;
 * the library does not check them. None of the calls fails or allocates.
 */

/* Return the thread that THREAD became in the end, or THREAD. */
MPROF_API uint32_t mprof_why_final(const struct mprof_why *w, uint32_t thread);
/*
 * Return the link by which THREAD waits, an interaction, or MPROF_NONE if THREAD does not wait.
 * THREAD must be a result of mprof_why_final().
 */
MPROF_API uint32_t mprof_why_link(const struct mprof_why *w, uint32_t thread);
/*
 * Return THREAD's latest label at or before TIME (ns), without labels of counters. If all labels
 * are later, return the first one. A wait without a label has that of the place in the code that
 * created it. Return MPROF_NONE without labels.
 */
MPROF_API uint32_t mprof_why_label(const struct mprof_why *w, uint32_t thread, uint64_t time);

/*
 * Store in *ANSWER why THREAD waits. The call takes time in proportion to the links of THREAD's
 * chain and the streams of the view, and the logarithm of everything else.
 */
MPROF_API void mprof_why_ask(const struct mprof_why *w, uint32_t thread, struct mprof_why_answer *answer);

/*
 * Store in *COVERAGE the hole in which the resolution of THREAD, which is unresolved, could be: a gap, a step of
 * the clock, dropped events, or a ring that is not in the model. That the recorder may not write resolutions is no
 * hole here. THREAD must be a result of mprof_why_final().
 */
MPROF_API void mprof_why_unresolved(const struct mprof_why *w, uint32_t thread, struct mprof_coverage *coverage);

/*
 * Return the last activation of STREAM, or MPROF_NONE. With AWAKE, leave out the activations of the
 * stream's root thread, in which the program slept. All streams of a guest count as its first one: ask for
 * that. If several activations have the same end, return the last of these. vCPUs (schema/vcpu.md) do not count.
 */
MPROF_API uint32_t mprof_why_last(const struct mprof_why *w, uint32_t stream, bool awake);

/*
 * Store in *STATE the state of THREAD in its last samples, without those before FROM, ns. Return false if there is none, or if the
 * last sample says that the thread was in a wait, which its ring tells. The call takes time in proportion to the thread's samples.
 */
MPROF_API bool mprof_why_state(const struct mprof_why *w, uint32_t thread, uint64_t from,
			       struct mprof_why_state *state);
/*
 * Find a thread of STREAM's guest that explains what the program did at the end of the trace, since it slept or a thread last
 * ran: one that was stopped by a signal, which stops all threads; or else, of those that ran in their last samples, the one that
 * used most processor time between the samples of that state; or else one that has not stopped to run by its ring, in any state.
 * Store its state in *STATE. Return the thread, or MPROF_NONE. The call takes time in proportion to all threads and samples.
 */
MPROF_API uint32_t mprof_why_program_state(const struct mprof_why *w, uint32_t stream, struct mprof_why_state *state);
/* Return the name of KIND, a constant: "runs", "sleeps" and so on (MPROF_STATE in mprof/events.def). */
MPROF_API const char *mprof_why_state_name(enum mprof_state_kind kind);

#ifdef __cplusplus
}
#endif

#endif
