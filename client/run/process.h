/* A process that the keeper serves: its directory, its rings, and what its notes say. */
#ifndef RUN_PROCESS_H
#define RUN_PROCESS_H

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "shared.h"

struct guest;
struct guest_process;
struct keeper_options;
struct runtime;
struct sampling;
struct symbols;

/* A lock on the heap, which gets its name from the code that waits for it. */
struct unnamed {
	int64_t id;	/* 0 = none */
	uint64_t place; /* return address of the call that first waits */
	uint64_t time;	/* of its note */
};

#define KNOWN 256u

/* The other end of the descriptor for which a thread waits. */
struct far_end {
	int64_t wait; /* the wait that was looked at; 0 = none */
	int64_t near; /* the descriptor; 0 = none is known */
	int64_t far;  /* the other end */
};

#define UNNAMED 64u /* locks of a process whose names may come later */

struct process {
	LIST_ENTRY(process) entry;
	pid_t pid;
	int pidfd;
	char name[24]; /* of its program, when its rings were made */
	char *path;    /* of its directory; NULL = its rings are published to Xen, or another process has it */
	struct guest_process *xen;   /* these rings; NULL = there are none */
	struct run_control *control; /* mapped; NULL = the process has sent no request yet */
	int control_file;
	uint64_t notes;		  /* number of the next note */
	struct run_note *pending; /* notes that are to be recorded; NULL = none yet */
	uint32_t n_pending;
	struct symbols *symbols;
	struct unnamed unnamed[UNNAMED];
	int64_t looked[RUN_WAITERS];	 /* the last wait of each entry whose stack was read */
	struct far_end far[RUN_WAITERS]; /* of each entry */
	uint32_t far_ends;		 /* number of those that were recorded */
	pid_t known[KNOWN];		 /* other processes that were recorded, the last ones */
	uint32_t n_known;
	bool listed; /* the file of modules was written */
	struct mprof_recorder_file objects_file, counters_file;
	struct mprof_recorder objects; /* threads, locks, places: what the other rings name by numbers */
	struct mprof_recorder counters;
	uint64_t given;		   /* bit N: the process got the file of the ring N */
	uint32_t own;		   /* rings of one thread each that the process may have */
	uint32_t domains;	   /* rings of its domains */
	struct runtime *runtime;   /* of OCaml 5; NULL = the program does not have it */
	uint64_t sampled;	   /* when the counters were last read, CLOCK_MONOTONIC ns */
	uint32_t samples;	   /* number of readings */
	int64_t last[4];	   /* their values */
	struct sampling *sampling; /* of the threads' states; NULL = there was none yet */
	uint32_t facts;		   /* bit N: enum fact N, for the keeper to say */
	uint64_t gone;		   /* when the process went, CLOCK_MONOTONIC ns; 0 = it is there */
};

LIST_HEAD(processes, process);

uint64_t now(void);

/* Add the process PID to LIST. PIDFD becomes P's. Return NULL without memory; PIDFD is then closed. */
struct process *process_new(struct processes *list, pid_t pid, int pidfd);
/* Remove P from its list and free it. Its directory stays. */
void process_free(struct process *p);
/*
 * Create P's control memory and the keeper's own two rings: published to Xen by GUEST, if it is not
 * NULL, else in P's directory, which is created in that of O. OCAML: keep some rings for domains.
 * Return 0 or -errno.
 */
int process_publish(struct process *p, const struct keeper_options *o, struct guest *guest, bool ocaml);
/*
 * P's program has the runtime of OCaml 5: follow USER's file of runtime events at PATH, or, if P has no
 * room for rings of domains, only remove it at the end. OWN is the keeper's directory for such files, or
 * NULL. BYTES is the size of a domain's ring.
 */
void process_follow(struct process *p, uid_t user, const char *path, const char *own, uint64_t bytes);
/* Create the ring SLOT with BYTES bytes. Return a descriptor of its memory, or -errno. */
int process_ring(struct process *p, uint32_t slot, uint64_t bytes);
/* The process did not wait for the ring that was made last. */
void process_ring_refused(const struct process *p);
/*
 * Record the notes that are old enough, runtime events, and each second the counters. TIME is now; *SEARCHED is when the
 * keeper last looked for an other end of a descriptor, CLOCK_MONOTONIC ns.
 */
void process_step(struct process *p, uint64_t time, uint64_t *searched);
/* Return the time until P's next step, at most MOST; both ms. */
int process_wait(const struct process *p, int most);
/* The process executes another program: record that the program's main thread has ended. TIME is now. */
void process_executes(struct process *p, uint64_t time);
/* The process has gone: record its last notes and runtime events, and end the keeper's rings. */
void process_gone(struct process *p, uint64_t time);
/* Return whether the process ended by itself, and not by a signal. */
bool process_exited(const struct process *p);
/* Write the name of the program of the process PID, as a file may be called, to NAME (SIZE bytes). */
void process_name(pid_t pid, char *name, size_t size);
/*
 * Some time after its end: remove P's directory with its rings, if it ended by itself and the rings are
 * not to be kept; withdraw rings that are published to Xen. Return false if that is not complete: call
 * again. TIME is now.
 */
bool process_withdraw(struct process *p, bool keep, uint64_t time);

/* ---- notes.c ---- */

/* Record the notes before UNTIL. */
void notes_take(struct process *p, uint64_t until);
/* Record that the thread, lock or wait ID is called TEXT. */
void process_label(struct process *p, int64_t id, const char *text);
/* Write to TEXT (SIZE bytes) how a wait in CALL, called from CODE, is labelled. CALL may be no call that is known. */
void call_describe(uint32_t call, const char *code, char *text, size_t size);

/* Write to TEXT (SIZE bytes) how the lock ID on the heap is labelled, for which CODE waits. */
void lock_describe(int64_t id, const char *code, char *text, size_t size);

/* ---- stacks.c ---- */

/*
 * The lock U on the heap is new, and a language's library waits for it. Return whether the lock is to be named later,
 * by the stack of a thread that waits for it.
 */
bool stacks_name_later(struct process *p, const struct unnamed *u);
/* Name the locks whose notes are from before UNTIL, and for which no stack was read, by the places that wait. */
void stacks_name(struct process *p, uint64_t until);

/*
 * Read the stacks of threads that have waited for over a second, and name the code of the program that waits. TIME is
 * now, and STAMP that of the events, ns.
 */
void stacks_look(struct process *p, uint64_t time, uint64_t stamp);

/* ---- far-ends.c ---- */

/*
 * Find the other ends of descriptors, and the children, for which threads have waited for over a second: one each half a
 * second, of all processes together. TIME is now, STAMP that of the events, and *SEARCHED that of the last search, all ns.
 */
void far_ends_look(struct process *p, uint64_t time, uint64_t stamp, uint64_t *searched);

/* ---- counters.c ---- */

/* Record the counters that have changed, or, if ALL, all of them. TIME is now. */
void counters_sample(struct process *p, uint64_t time, bool all);
/* Record that the process has gone. */
void counters_end(struct process *p, uint64_t time);

/* ---- states.c ---- */

/* Record the states of threads whose rings are quiet. TIME is now. Return whether there was any. */
bool states_sample(struct process *p, uint64_t time);

#endif
