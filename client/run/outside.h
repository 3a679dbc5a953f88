/*
 * One thread of another process, looked at from outside: what it does in the kernel, and its stack. The thread is stopped for
 * that only if it loses nothing by it, for some microseconds, and never by a signal. If this process is killed while it has
 * stopped a thread, the kernel lets the thread go on.
 */
#ifndef RUN_OUTSIDE_H
#define RUN_OUTSIDE_H

#include <mprof/ids.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind.h"

#define OUTSIDE_NAME	    16u	    /* bytes of a thread's name, NUL included */
#define OUTSIDE_CHANNEL	    40u	    /* bytes of the name of a place in the kernel, NUL included */
#define OUTSIDE_STACK_BYTES 131072u /* of a stack that are copied */
#define OUTSIDE_LATE_MAX    3u	    /* threads that do not stop in time, after which none is stopped any more */

/* The state of a thread, as the system tells it. */
struct outside_state {
	enum mprof_state_kind kind; /* MPROF_STATE_KINDS = unknown, or stopped by this process */
	uint64_t processor_ns;
	uint64_t switches;	       /* context switches, both kinds: a thread that ran between has more */
	bool counted;		       /* the system tells SWITCHES */
	char channel[OUTSIDE_CHANNEL]; /* where the kernel has it wait, or empty */
	int64_t call;		       /* the system call in which it waits; -1 = none, or unknown */
	bool restarted; /* the kernel has begun the call anew after a stop: CALL is SYS_restart_syscall, or a guess by CHANNEL */
	bool refused;		      /* this user may not read the call: the thread may not be stopped either */
	uint64_t arguments[6];	      /* of that call */
	uint64_t stack_pointer, code; /* of the thread in that call; 0 = unknown */
};

/*
 * Read the kind of the state of the thread TID of PID, but for MPROF_STATE_futex, and its processor time. The rest of S is unknown. Return
 * false if the thread has gone.
 */
bool outside_stat(pid_t pid, pid_t tid, struct outside_state *s);
/* Read where in the kernel the thread waits into S, which outside_stat() has filled. It stays empty if the kernel does not tell. */
void outside_channel(pid_t pid, pid_t tid, struct outside_state *s);
/* Read the system call in which the thread waits, and its arguments, into S. */
void outside_call(pid_t pid, pid_t tid, struct outside_state *s);
/*
 * Read all of the state of the thread TID of PID. Return false if it has gone or ended. A system call that the kernel has begun anew after a
 * stop gets its own number again where the place in the kernel tells it.
 */
bool outside_look(pid_t pid, pid_t tid, struct outside_state *s);
/* Write the name of the thread to NAME, which may be empty. */
void outside_name(pid_t pid, pid_t tid, char name[OUTSIDE_NAME]);
/* Return the number of the thread in the PID namespace of its process, or 0 if it has gone. */
pid_t outside_inner(pid_t pid, pid_t tid);

/* Threads that did not stop in time. They stop when they get a processor, or at the end of a long system call, until they are let go on. */
struct outside_late {
	pid_t tids[OUTSIDE_LATE_MAX]; /* the first N; 0 = has been let go on */
	unsigned int n;
};

enum outside_stop {
	OUTSIDE_STOPPED, /* the thread was stopped, and goes on */
	OUTSIDE_LEFT,	 /* it was not stopped: it could lose by it, has ended, or too many were late */
	OUTSIDE_LATE,	 /* it did not stop in time, and is one of the late ones */
	OUTSIDE_REFUSED, /* it may not be stopped */
};

/*
 * Copy the stack of the thread TID, whose state was S, to COPY and BYTES, OUTSIDE_STACK_BYTES bytes. The thread is stopped
 * meanwhile if its system call, in S and now, goes on after a stop as if nothing had been, or if it is in none. COPY->n is 0 if there is no
 * stack. S becomes the state in which the stack was copied, if that is known; its context switches are unknown where the thread was stopped.
 */
enum outside_stop outside_stack(pid_t pid, pid_t tid, struct outside_state *s, struct outside_late *late,
				struct stack_copy *copy, uint8_t *bytes);
/*
 * From now on, let each thread of LATE go on when it stops: a handler of SIGCHLD does it at once. LATE must be there until this process ends.
 * Calls that the handler interrupts go on, but for nanosleep() and others that signal(7) names.
 */
void outside_watch(struct outside_late *late);

#endif
