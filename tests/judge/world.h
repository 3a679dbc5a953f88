/*
 * A simulated machine that executes programs with threads, locks, conditions, semaphores, pipes and
 * processes, and that knows afterwards who waited for what, and for how long.
 *
 * A program is a list of operations, and its branches depend on variables that the threads share. The
 * machine executes the operation of the thread whose time is the earliest; no two operations have the
 * same time. It runs until no thread can go on. A thread that has not ended then waits for ever: this is
 * the truth, and no rule about the trace takes part in it.
 */
#ifndef JUDGE_WORLD_H
#define JUDGE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define WORLD_THREADS	64
#define WORLD_PROCESSES 4
#define WORLD_OBJECTS	32
#define WORLD_VARIABLES 16
#define WORLD_PROGRAMS	32
#define WORLD_OPS	40 /* of a program */
#define WORLD_STEPS	6000
#define WORLD_NEVER	UINT64_MAX
#define WORLD_NONE	(-1)

enum object_kind { OBJECT_NONE, OBJECT_MUTEX, OBJECT_RWLOCK, OBJECT_CONDITION, OBJECT_SEMAPHORE, OBJECT_PIPE };

enum op_kind {
	OP_END,	    /* the thread ends; of a first thread also the process */
	OP_WORK,    /* compute for up to VALUE us */
	OP_SLEEP,   /* sleep for up to VALUE us */
	OP_LOCK,    /* mutex A */
	OP_UNLOCK,  /* mutex A */
	OP_WAIT,    /* for condition A, with mutex B; it waits for variable VALUE to be more than 0 */
	OP_SIGNAL,  /* condition A */
	OP_WAKEALL, /* condition A */
	OP_ACQUIRE, /* semaphore A */
	OP_POST,    /* semaphore A */
	OP_READ,    /* pipe A */
	OP_WRITE,   /* pipe A */
	OP_RDLOCK,  /* rwlock A */
	OP_WRLOCK,  /* rwlock A */
	OP_RWFREE,  /* rwlock A */
	OP_SPAWN,   /* a thread with program A; it is child number B of this thread */
	OP_JOIN,    /* child number B */
	OP_FORK,    /* the child process runs program A; its first thread is child number B of this thread */
	OP_SET,	    /* variable A becomes VALUE */
	OP_ADD,	    /* variable A grows by VALUE */
	OP_IFZERO,  /* if variable A is 0, go to operation B */
	OP_IFSET,   /* if variable A is not 0, go to operation B */
	OP_LOOP,    /* go to operation B, VALUE times */
	OP_GO,	    /* go to operation B */
	OP_TIMED,   /* as OP_WAIT, for at most 50 us */
};

struct op {
	uint8_t kind, a, b;
	int16_t value;
};

struct program {
	struct op op[WORLD_OPS];
	unsigned n;
};

struct object {
	enum object_kind kind;
	int holder;	  /* thread, of a mutex or of a writer; WORLD_NONE */
	uint64_t since;	  /* when HOLDER got it */
	uint64_t readers; /* a bit for each thread */
	int count;	  /* of a semaphore or a pipe */
	uint64_t waiting; /* a bit for each thread in a wait for it */
	uint64_t asleep;  /* those of WAITING that nobody has woken */
	uint64_t writers; /* those of WAITING that want to write */
};

enum thread_state { THREAD_READY, THREAD_BLOCKED, THREAD_ENDED };

struct thread {
	enum thread_state state;
	int process, program, creator;
	unsigned pc;
	uint64_t at; /* time of its next operation; WORLD_NEVER while it is blocked */
	uint64_t created, begin, end;
	int wait; /* index of its present wait, WORLD_NONE */
	int children[8];
	unsigned loops[WORLD_OPS];
	bool woken;	/* from a condition; it wants the mutex back */
	bool timed_out; /* the same, and nobody signalled */
};

/* One wait of a thread. */
struct wait {
	int thread, process;
	int object; /* index in the process; WORLD_NONE for a sleep */
	int joined; /* thread that it waits for; WORLD_NONE */
	unsigned program, pc;
	uint64_t begin, end; /* END is WORLD_NEVER if it never ended */
	uint64_t woken;	     /* when somebody signalled the condition for it; WORLD_NEVER */
	int holder;	     /* of the object when the wait began */
};

enum fact_kind {
	FACT_BEGIN,   /* THREAD runs for the first time */
	FACT_END,     /* THREAD returned */
	FACT_EXIT,    /* the process ended; OTHER is unused */
	FACT_BLOCK,   /* THREAD began WAIT */
	FACT_RESUME,  /* THREAD ended WAIT; OTHER woke it, or WORLD_NONE */
	FACT_TIMEOUT, /* THREAD ended WAIT: nobody signalled in time */
	FACT_SIGNAL,  /* THREAD signalled the condition OBJECT; N threads waited */
	FACT_POST,    /* THREAD posted the semaphore OBJECT; N threads waited */
	FACT_FREE,    /* THREAD unlocked OBJECT, also by a wait for a condition; N threads waited */
	FACT_TAKE,    /* THREAD locked OBJECT; N is 1 if others may have it, too */
	FACT_MOVE,    /* THREAD read from or wrote to OBJECT, a pipe */
	FACT_WOKEN,   /* THREAD signalled the condition OBJECT; OTHER is woken, in WAIT */
	FACT_RELOCK,  /* THREAD was woken from a condition, and waits for its mutex OBJECT */
	FACT_RUN,     /* THREAD computes until N ns later */
};

struct fact {
	uint64_t time;
	enum fact_kind kind;
	int thread, process, object, wait, other;
	unsigned pc;
	uint64_t n;
};

struct world {
	struct random random;
	struct program programs[WORLD_PROGRAMS];
	unsigned n_programs;
	struct object objects[WORLD_PROCESSES][WORLD_OBJECTS];
	unsigned n_objects;
	int inherited[WORLD_PROCESSES][WORLD_OBJECTS]; /* who held it when a fork copied it; of process 0 unused */
	int variables[WORLD_PROCESSES][WORLD_VARIABLES];
	unsigned n_variables;
	struct thread threads[WORLD_THREADS];
	unsigned n_threads;
	unsigned n_processes;
	uint64_t exited[WORLD_PROCESSES]; /* WORLD_NEVER */
	uint64_t now;
	uint64_t quiet; /* when no thread could go on */
	bool endless;	/* the steps ran out before */
	/* The rest is not cleared before a run: items behind the last one are never read. */
	unsigned n_waits, n_facts;
	struct wait waits[WORLD_STEPS];
	struct fact facts[3 * WORLD_STEPS];
};

/* Execute program 0 in process 0, and all that it starts. The caller has made programs and objects. */
void world_run(struct world *w);

/* Return the wait in which THREAD is at TIME, or WORLD_NONE. */
int world_wait_at(const struct world *w, int thread, uint64_t time);
/* Return the thread that has the mutex or the written rwlock OBJECT at TIME, or WORLD_NONE. */
int world_holder_at(const struct world *w, int process, int object, uint64_t time);
/* Return whether the variable that WAIT, a wait for a condition, waits for is set at the end. */
bool world_satisfied(const struct world *w, const struct wait *wait);
/* Return whether THREAD never runs again after TIME, and has not ended. */
bool world_stuck(const struct world *w, int thread, uint64_t time);

#endif
