/*
 * Locks of the C library in the memory of another process: which one a thread waits for in the kernel's futex, and who has it.
 * The layouts are those of glibc on x86-64 and aarch64, 2.31 to 2.42. The memory is the process's: nothing in it is trusted.
 */
#ifndef RUN_LOCK_MEMORY_H
#define RUN_LOCK_MEMORY_H

#include <mprof/ids.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A wait of a thread in the kernel's futex. */
struct futex_wait {
	uint64_t address; /* of the futex */
	uint32_t operation;
	uint32_t value;
};

struct lock_memory {
	int64_t id;		     /* address of the lock, or for a join the thread; 0 = unknown */
	enum mprof_thread_type type; /* Task = the thread ID is awaited */
	pid_t owner; /* the thread that has it, by its number in its own PID namespace; 0 = unknown or nobody */
	bool shared; /* other processes may have it, too */
};

/*
 * Find in the memory of PID for what a thread waits that has called CALL, enum run_call or RUN_CALL_COUNT for another
 * function, and that is in the futex F. MINOR is the minor version of its glibc, 0 = unknown.
 */
void lock_memory_find(pid_t pid, uint32_t call, const struct futex_wait *f, uint32_t minor, struct lock_memory *lock);

#endif
