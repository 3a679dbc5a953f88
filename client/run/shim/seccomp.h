/*
 * Seccomp: a program may have itself killed for each system call but a few. From then on the shim makes none of
 * its own in this process, in its threads and in its children.
 *
 * The sandbox is on until the shim's constructor has found that it is not: a filter may come from the program that
 * executed this one. Threads go on recording into the rings that they have.
 */
#ifndef SHIM_SECCOMP_H
#define SHIM_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

extern bool seccomp_on __attribute__((visibility("hidden"))); /* atomic */

static inline bool seccomp_is_on(void)
{
	return __atomic_load_n(&seccomp_on, __ATOMIC_RELAXED);
}

struct seccomp_entry {
	bool entered; /* the sandbox was off, and seccomp is about to be turned on */
	bool strict;  /* in strict mode, in which the time stamp counter cannot be read, either */
	uint64_t time;
};

/*
 * The program is about to turn seccomp on by prctl() or seccomp(): make the ring for the threads to come, and make no
 * system call from now on. Return what seccomp_entered() wants to know.
 */
struct seccomp_entry seccomp_enters(bool strict);
/* The call has returned R. */
void seccomp_entered(const struct seccomp_entry *e, long r);

#endif
