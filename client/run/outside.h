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

/* The state of a thread, as the system tells it. */
struct outside_state {
	enum mprof_state_kind kind; /* MPROF_STATE_KINDS = unknown */
	uint64_t processor_ns;
	uint64_t switches;	       /* context switches, both kinds: a thread that ran between has more */
	char channel[OUTSIDE_CHANNEL]; /* where the kernel has it wait, or empty */
	int64_t call;		       /* the system call in which it waits; -1 = none, or unknown */
	uint64_t arguments[6];	       /* of that call */
	uint64_t stack_pointer, code;  /* of the thread in that call; 0 = unknown */
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

enum outside_stop {
	OUTSIDE_STOPPED, /* the thread was stopped, and goes on */
	OUTSIDE_LEFT,	 /* it was not stopped: it could lose by it, or did not stop in time */
	OUTSIDE_REFUSED, /* it may not be stopped; errno says why */
};

/*
 * Copy the stack of the thread TID, whose state is S, to COPY and BYTES, OUTSIDE_STACK_BYTES bytes. The thread is stopped
 * meanwhile if its system call goes on after a stop as if nothing had been, or if it is in none. COPY->n is 0 if there is no
 * stack.
 */
enum outside_stop outside_stack(pid_t pid, pid_t tid, const struct outside_state *s, struct stack_copy *copy,
				uint8_t *bytes);

#endif
