/* Look at a program that runs already (mprof-run --pid): what its threads wait for, and who has the locks. */
#ifndef RUN_ATTACH_H
#define RUN_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <mprof/event.h>
#include <mprof/recorder.h>

#include "lock-memory.h"
#include "outside.h"

#define ATTACH_CODE 192u   /* bytes of the text of a place in the code, NUL included */
#define ATTACH_RING "look" /* name of the ring in its directory */

/* A state as the ring has it; the recorder keeps its address. */
struct said {
	struct mprof_text text;
	char bytes[ATTACH_CODE + 16];
};

/* A thread of the process. */
struct seen {
	pid_t tid;
	pid_t inner; /* its number in the PID namespace of the process */
	char name[OUTSIDE_NAME];
	uint64_t time;		      /* of the first look, CLOCK_MONOTONIC ns */
	struct outside_state first;   /* in the first look */
	struct outside_state settled; /* behind it, when the thread slept again */
	struct outside_state last;    /* in the second look */
	bool stays;		      /* it waits where it waited, and has not run between the looks */
	bool gone;		      /* it ended before the second look */
	uint32_t call;		      /* the C library's function that waits, enum run_call, or RUN_CALL_COUNT */
	uint64_t place;		      /* address of the program's code that called it; 0 = unknown */
	char last_code[ATTACH_CODE];  /* where it ran in the second look; empty = unknown */
	char code[ATTACH_CODE];	      /* that code */
	struct lock_memory lock;      /* for what it waits in a futex */
	struct said said[2];	      /* its states in the two looks */
	int64_t on;		      /* id of that in the trace, or of the descriptor; 0 = nothing that has a name */
};

struct attached {
	pid_t pid;
	int pidfd;
	struct symbols *symbols;
	uint32_t glibc; /* minor version; 0 = unknown */
	struct seen *threads;
	uint32_t n;
	uint64_t began, ended; /* of the first and of the second look, CLOCK_MONOTONIC ns */
	struct outside_late late;
	FILE *stacks;	   /* where the stacks are written; NULL = nowhere */
	int stacks_error;  /* 0, or -errno: they could not be written */
	int modules_error; /* the same of the list of modules */
};

/* Look at the process PID, and write what is found into the directory DIR. Return the exit code; a failure was said. */
int attach_run(pid_t pid, const char *dir);

/* ---- attach-check.c ---- */

/* Return whether the process PID can be looked at; write to TEXT (SIZE bytes) a sentence if not. */
bool attach_check(pid_t pid, char *text, size_t size);
/* Write to TEXT (SIZE bytes) why PID may not be looked at: the system refused it. */
void attach_refused(pid_t pid, char *text, size_t size);

/* ---- attach-record.c ---- */

/* Return the thread of A with the number INNER in the PID namespace of its process, or NULL. */
const struct seen *attach_find(const struct attached *a, pid_t inner);
/* Write the ring of A into the directory with the descriptor DIRECTORY. Return 0 or -errno. */
int attach_record(struct attached *a, int directory);

#endif
