/*
 * Sentences of the keeper for the user. Each goes to the error output that mprof-run had, at most once for each fact.
 */
#ifndef RUN_SENTENCES_H
#define RUN_SENTENCES_H

#include <stdint.h>
#include <sys/types.h>

/* A fact about a process that limits what is recorded. */
enum fact {
	FACT_SECCOMP, /* the process has turned seccomp on */
	FACT_ROOT,    /* the process has a root without the shim's library */
	FACT_NETWORK, /* the process is in another network namespace than the keeper */
	FACTS,
};

struct sentences {
	pid_t pid; /* the first process */
	int pidfd; /* of it; not owned */
	dev_t device;
	ino_t inode;   /* of its error output when mprof-run started */
	uint32_t said; /* bit N: enum fact N */
};

/* Initialise S. PID and PIDFD are the first process; the calling process still has its error output. */
void sentences_begin(struct sentences *s, pid_t pid, int pidfd);
/*
 * Say FACT about the process PID called NAME. Nothing is said if FACT was said before, if the first process has gone, or
 * if its error output is another one than at the start, or is full.
 */
void sentences_say(struct sentences *s, enum fact fact, const char *name, pid_t pid);

#endif
