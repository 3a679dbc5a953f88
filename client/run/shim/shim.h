/*
 * Shared by the files of the shim.
 *
 * The wrappers of the C library's functions run in the traced program, in any thread, in signal
 * handlers, before constructors and after destructors. So nothing here allocates, takes a lock,
 * waits for another thread or changes errno. A thread that cannot record passes its calls on.
 */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#include <mprof/cycles.h>
#include <mprof/recorder.h>

#include "registers.h"
#include "shared.h"
#include "slots.h"

#define WRAPPER __attribute__((visibility("default")))

/* The shim's state of a thread, in initial-exec TLS. All zero for a new thread. */
struct self {
	struct slot *ring;
	int64_t wait_next;	   /* id of the next wait */
	int64_t unread;		   /* wait that is over, and whose end found no ring; 0 = none */
	uint32_t wait_left;	   /* ids left of the block of ids */
	uint32_t generation;	   /* that of the process when the thread took RING */
	int64_t creator;	   /* thread that created this one; 0 = unknown */
	uint64_t created;	   /* before the thread was created, CLOCK_MONOTONIC ns; 0 = unknown */
	uint64_t retry;		   /* when to ask for a ring again after a refusal, CLOCK_MONOTONIC ns */
	int64_t waits_with;	   /* mutex of the wait for a condition that is about to begin; 0 = none */
	uint64_t waits_since;	   /* when the thread took that mutex, ns; 0 = unknown */
	struct run_waiter *waiter; /* where the keeper finds the thread's stack; NULL = nowhere yet */
	int tid;
	bool waiter_refused;   /* the table of waiting threads was full */
	bool known;	       /* the keeper has the note of this thread */
	bool volatile inside;  /* the shim's own code runs: a signal handler must not record */
	bool volatile vforked; /* between vfork() and the child's exec: the child shares this memory */
	bool ended;
};

extern __thread struct self shim_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A lock, a place or a descriptor of which a note was written. */
struct object {
	int64_t id;	  /* atomic; 0 = free */
	uint32_t waiters; /* atomic */
	int32_t waker;	  /* atomic; tid of the last thread that woke waiters */
	int64_t mutex;	  /* atomic; of a condition: the mutex of the last wait; 0 = unknown */
	/*
	 * Atomic. For a condition: time of its last signal, ns, if no thread waited then, and if the signalling thread
	 * surely had not held the mutex since its signal before; else 0.
	 */
	uint64_t bare;
};

/* ---- start.c: the process and its keeper ---- */

/* The process, on a page that a fork wipes. */
struct process {
	uint32_t state;	     /* atomic; enum process_state */
	uint32_t generation; /* atomic; number of times that the process began, in its ancestors too; 0 = not yet */
	struct run_control *control;
	struct mprof_cycles cycles;
};

extern struct process *process __attribute__((visibility("hidden")));

/* The thread's first event in this process: introduce the thread, and take a ring. Return whether it has one. */
bool self_begin(struct self *s);
static inline void self_leave(struct self *s)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->inside = false;
}
/*
 * Return the calling thread's state with a ring, or NULL if the thread must not record now. Until
 * self_leave() a signal handler of the thread records nothing.
 */
static inline struct self *self_enter(void)
{
	struct self *s = &shim_self;

	if (s->inside || s->vforked || s->ended)
		return NULL;
	s->inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(s->ring && s->generation == __atomic_load_n(&process->generation, __ATOMIC_ACQUIRE), 1) ||
	    self_begin(s))
		return s;
	self_leave(s);
	return NULL;
}
/* The thread ends: resolve it, and return its ring. */
void self_end(void);
/* Return CLOCK_MONOTONIC, ns. Called between self_enter() and self_leave(). */
static inline uint64_t now(void)
{
	return mprof_cycles_now(&process->cycles);
}
/* A thread is about to forbid itself to read the time stamp counter. */
void now_forbids_counter(void);
/* The process is in a sandbox: record nothing from now on if a time needs a system call, or STRICT forbids the counter. */
void now_may_call_nobody(bool strict);
/* Return the calling thread's tid. In a sandbox it comes from the C library's memory, and is 0 if it is not found there. */
int thread_tid(void);
/* Return the calling thread's tid from the C library's memory; 0 if it is not found there. No system call. */
int thread_tid_kept(void);
/* Send the request REQUEST for SLOT to the keeper. Return the file's mapping, or NULL. */
void *keeper_ask(enum run_request request, uint32_t slot, uint64_t *bytes);
/* Return whether the keeper can be asked from here: its socket belongs to a network. */
bool keeper_is_near(void);
/* Return the notes' memory, or NULL before the process began. */
struct run_control *control_get(void);
/*
 * The process ends by itself: its threads end, and the keeper gets to know it. The calling thread records
 * nothing more.
 */
void process_exits(void);

/* ---- thread-events.c: the rings; thread-events.h has their events ---- */

/* Return a ring for the thread TID, or NULL: its own until ring_return(), or one that threads share. */
struct slot *ring_take(int tid);
void ring_return(struct slot *s);
/* Make a ring that threads share: in a sandbox no further ring can be had. */
void ring_prepare(void);
/* Forget all rings: the process is a forked child, and the mappings are not in its memory. */
void rings_forget(void);

/* ---- runtime-start.c: OCaml 5 ---- */

/* If the program has the runtime of OCaml 5, turn its runtime events on. Called before main(). */
void runtime_start(void);
/*
 * Remove the file of runtime events that an earlier process or program left: OCaml would write over it.
 * The keeper follows no file that was there when the process began.
 */
void runtime_clear(void);
/* Return the path of the file of runtime events of this process; empty if there is none. */
const char *runtime_path(void);

/* ---- note.c ---- */

/* Append a note of TIME, ns. TEXT may be NULL. A note that finds no room is counted and lost. */
void note(uint64_t time, enum run_note_kind kind, int64_t id, int64_t parent, uint32_t detail, const char *text);
/* Return the object ID, and write its note if it is new. Return NULL if the table is full. */
struct object *object_get(enum run_note_kind kind, int64_t id, int64_t parent, uint32_t detail);
/* Return the object ID, or NULL. */
struct object *object_find(int64_t id);
void objects_forget(void);

/* ---- wait.c ---- */

/* One wait, on the stack of the wrapper. */
struct wait {
	struct slot *ring;	   /* NULL = not recorded, or over */
	struct run_waiter *waiter; /* says that the thread waits; NULL = none does */
	uint32_t generation;	   /* of the process that WAITER belongs to */
	struct object *object;	   /* counts this wait; NULL = none does */
	int64_t id;
	int64_t on;
	bool exclusive; /* the thread owns ON after the wait */
};

/*
 * The thread is about to wait in CALL, which returns to PLACE, for the object ON (0 = nothing that
 * has a name) of type TYPE. OWNER is the tid of the thread that has it, or 0. REGISTERS are those of the
 * wrapper, by registers_take(), which must not return before wait_end().
 */
void wait_begin(struct wait *w, enum run_call call, const void *place, int64_t on, enum mprof_thread_type type,
		int owner, const uint64_t *registers);
/* The thread runs again. FAILURE says why the wait failed; NULL = it did not. */
void wait_end(struct wait *w, const char *failure);
/* If the wait is not over, the thread was cancelled, or left it by an exception. For the cleanup attribute. */
static inline void wait_left(struct wait *w)
{
	if (w->ring || w->object)
		wait_end(w, "cancelled");
}
/* The thread wakes those that wait for ON. PLACE as for wait_begin(). */
void wake(const void *place, int64_t on, enum mprof_thread_type type);

/* S ends, and with it what the keeper knows of its waits. */
void waiter_free(struct self *s);

/* Return the number that stands for the object at the address P. */
static inline int64_t object_id(const volatile void *p)
{
	return (int64_t)(uintptr_t)p;
}

/* Return why a call failed that returned CODE, 0 or an errno; NULL = it did not. */
static inline const char *failure_code(int code)
{
	return code == 0 ? NULL : code == ETIMEDOUT ? "timed out" : "failed";
}

/* As failure_code(), for a function of C11 that returned CODE. */
static inline const char *failure_c11(int code)
{
	return code == thrd_success ? NULL : code == thrd_timedout ? "timed out" : "failed";
}

/*
 * Return whether the C library takes UNTIL on CLOCK for a time. Some of its functions refuse another one
 * before they look whether they must wait, and others after it. So a call with such a time is passed on
 * without an attempt before it.
 */
static inline bool is_time(clockid_t clock, const struct timespec *until)
{
	return until && until->tv_nsec >= 0 && until->tv_nsec < 1000000000 &&
	       (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC);
}

#define HERE __builtin_return_address(0)

/*
 * Evaluate EXPRESSION, a call that waits, and record the wait. FAILED is an expression of `result`
 * that gives the failure's text or NULL.
 */
#define WAITING(call, on, type, owner, expression, failed)                                             \
	({                                                                                             \
		struct wait wait_ __attribute__((cleanup(wait_left)));                                 \
		uint64_t registers_[RUN_REGISTERS];                                                    \
                                                                                                       \
		registers_take(registers_);                                                            \
		wait_begin(&wait_, RUN_CALL_##call, HERE, on, MPROF_THREAD_##type, owner, registers_); \
		__typeof__(expression) result = (expression);                                          \
		wait_end(&wait_, failed);                                                              \
		result;                                                                                \
	})

#endif
