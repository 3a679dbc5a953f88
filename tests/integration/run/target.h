/*
 * Programs for the tests of mprof-run. Each does real calls that wait, checks what they return, and
 * exits with 0 if all was as without mprof-run.
 */
#ifndef RUN_TARGET_H
#define RUN_TARGET_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/*
 * Start a thread that calls WAKE with CONTEXT when the calling thread next sleeps in the kernel.
 * woken() joins that thread.
 */
void wake_when_asleep(void (*wake)(void *context), void *context);
void woken(void);

/* Wait until another thread has stored its id in *TID, and waits in the system call CALL. */
void until_waits(const int *tid, long call);

/* Return the time MS milliseconds from now. */
struct timespec soon(clockid_t clock, long ms);

/* The programs, by the name on the command line. Each returns the exit code. */
int program_calls_threads(void);
int program_calls_files(void);
int program_calls_sleeps(void);
int program_deadlock(void);
int program_missed(void);
int program_uncontended(void);
int program_cancel(void);
int program_errno(void);
int program_signals(void);
int program_random(unsigned int seed);
int program_reuse(const char *closing, const char *opening);
int program_many(void);
int program_fork(void);
int program_daemon(void);
int program_vfork(void);
int program_old_condition(void);
int program_idle_pool(void);
int program_pool_ends(void);
int program_lost_wakeup(void);
int program_holder_ends(void);
int program_waits_for_itself(void);
int program_lock_over_fork(void);
int program_permits(void);
int program_forgets(void);
int program_computes(void);
int program_pipe(void);
int program_remade(void);
int program_sockets(void);
int program_two_readers(void);
int program_connection(void);
int program_watches(void);
int program_child_writes(void);
int program_library_locks(void);
int program_bare_futex(void);
int program_bare_sleep(void);
int program_sleeps_then_waits(void);
int program_bare_crowd(void);
int program_late_waiters(void);
int program_blocked(void);

#endif
