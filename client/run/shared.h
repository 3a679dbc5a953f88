/*
 * The contract between the keeper (mprof-run) and the shim in a traced process (libmprof-run.so).
 * Both come from one package and one build.
 *
 * The shim connects to the keeper's socket, whose abstract name is in the environment, sends a
 * request and receives an answer with a file descriptor. RUN_REQUEST_PROCESS gives the notes of
 * the process, RUN_REQUEST_RING the file of a ring. The kernel tells the keeper the peer's pid.
 * Behind RUN_REQUEST_PROCESS a program with the runtime of OCaml 5 sends the path of its file of
 * runtime events.
 *
 * Notes introduce what the events of the process name by numbers: threads, locks, places in the
 * code, file descriptors. The shim appends notes without waiting, the keeper takes them out.
 */
#ifndef RUN_SHARED_H
#define RUN_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/ids.h>

#define RUN_SOCKET_ENV	"MPROF_RUN_SOCKET"  /* name of the abstract socket, without its first NUL */
#define RUN_SECCOMP_ENV "MPROF_RUN_SECCOMP" /* seccomp_level() of mprof-run itself */
#define RUN_MAGIC	0x31525550u
#define RUN_RINGS	62u   /* rings of the threads of a process; the keeper has two more */
#define RUN_RINGS_OWN	48u   /* of these, those of one thread each; the others are shared */
#define RUN_NOTES	4096u /* notes that wait for the keeper; a power of two */
#define RUN_NAME	16u   /* bytes of a thread's name, NUL included */

#define RUN_KEEPER_RING_MAX (1u << 20) /* bytes of each of the keeper's own rings */

/* OCaml 5. A process that has its runtime gets fewer rings for threads, so that there are 64 at most. */
#define RUN_RUNTIME_ENV	 "MPROF_RUN_RUNTIME" /* the keeper's directory for files of runtime events */
#define RUN_RUNTIME_PATH 1024u		     /* bytes of the path of such a file, NUL included */
#define RUN_DOMAIN_RINGS 16u		     /* rings of the domains of a process; the last one is shared */

/*
 * Kinds of events that the rings of a process declare. A thread that releases a lock for which no thread waits
 * writes no event, and neither does a thread that makes a descriptor ready. The ring of one thread also has
 * MPROF_WRITES_STOPS. In a ring that threads share, only the last one of them is known to have stopped.
 */
#define RUN_WRITES (MPROF_WRITES_SIGNALS | MPROF_WRITES_WAKES | MPROF_WRITES_ENDS)

enum run_request { RUN_REQUEST_PROCESS = 1, RUN_REQUEST_RING = 2 };

struct run_hello {
	uint32_t magic;
	uint32_t request; /* enum run_request */
	uint32_t slot;	  /* number of the ring, below RUN_RINGS */
	uint32_t path;	  /* bytes behind this struct: the path of the file of runtime events, without NUL */
};

/* A file descriptor comes with the answer if STATUS is 0. */
struct run_answer {
	uint32_t magic;
	uint32_t status; /* 0, or an errno */
	uint64_t bytes;	 /* size of the file */
};

/* Threads of the trace: their ids. Threads of the program have their tid, locks their address. */
#define RUN_ID_FD(fd)	  (-1000 - (int64_t)(fd))
#define RUN_ID_WAIT_FIRST (-2000000) /* waits have this id and those below */
/* The other end of a descriptor, the N-th one that was found. Other processes have their number. */
#define RUN_ID_FAR(n) (-(INT64_C(1) << 40) - (int64_t)(n))
/*
 * Threads of OCaml's runtime: ids from 0 on are this number greater than OCaml's, those below -1 this
 * number less. No address is so great, and readers with floating point know the ids exactly.
 */
#define RUN_ID_RUNTIME (INT64_C(1) << 52)

/*
 * Name of a duration of a wait for a condition (mprof/events.def): the wait has missed the signal at its beginning.
 */
#define RUN_MISSED "missed"

enum run_note_kind {
	RUN_NOTE_THREAD = 1, /* ID began; PARENT created it; TEXT is its name */
	RUN_NOTE_NAME,	     /* ID is called TEXT */
	RUN_NOTE_LOCK,	     /* ID is an address; PARENT is the place that first waits; DETAIL is its type */
	RUN_NOTE_PLACE,	     /* ID is a return address; DETAIL is the call (enum run_call) */
	RUN_NOTE_FD,	     /* ID stands for the file descriptor DETAIL */
	RUN_NOTE_ROOT,	     /* the thread ID has changed to a root without the shim's library */
	RUN_NOTE_NETWORK,    /* the thread ID has changed to a network from which the keeper cannot be asked */
	RUN_NOTE_SECCOMP,    /* the thread ID has turned seccomp on: the shim makes no system call any more */
};

struct run_note {
	uint64_t turn; /* atomic; see struct run_control */
	uint64_t time; /* CLOCK_MONOTONIC, ns, before the first event that uses ID */
	int64_t id;
	int64_t parent;
	uint32_t kind; /* enum run_note_kind */
	uint32_t detail;
	char text[RUN_NAME];
};

/*
 * A thread that waits, for the keeper, which reads the stack of one that waits for long. The thread stores WAIT last,
 * and 0 there when the wait is over, before its stack changes. So what the keeper copied while WAIT stayed the same
 * is the stack of that wait.
 */
#define RUN_WAITERS 256u  /* threads whose stacks can be read at a time */
#define RUN_REFUSED 4096u /* bits for the threads that found none of these free */
#if defined(__x86_64__)
#define RUN_REGISTERS	  8u
#define RUN_STACK_POINTER 2u /* its index among the registers */
#else
#define RUN_REGISTERS	  14u
#define RUN_STACK_POINTER 12u
#endif

struct run_waiter {
	int64_t wait;	/* atomic; id of the wait; 0 = none */
	uint64_t since; /* CLOCK_MONOTONIC, ns */
	int64_t on;	/* what the thread waits for; 0 = nothing that has a name */
	uint64_t place; /* return address of the call */
	uint32_t call;	/* enum run_call */
	int32_t owner;	/* atomic; tid of the thread to which this belongs; 0 = free */
	/*
	 * Those that a called function keeps, the stack pointer and the address of the code, in the function that
	 * begins the wait. x86-64: rbx, rbp, rsp, r12 to r15, rip. aarch64: x19 to x30, sp, pc.
	 */
	uint64_t registers[RUN_REGISTERS];
} __attribute__((aligned(64)));

/*
 * A bounded queue with several writers. The note with number N lies in NOTES[N % RUN_NOTES]. A
 * writer takes the number HEAD, by compare and swap, if the TURN of its place is N; writes the
 * note; then stores N + 1 as TURN. The keeper takes the note out and stores N + RUN_NOTES as TURN.
 * The keeper initialises TURN to the index.
 *
 * The process uses the rings 0 to OWN - 1, and the rings from RUN_RINGS_OWN to RUN_RINGS_OWN + SHARED - 1.
 */
struct run_control {
	uint32_t magic;
	uint32_t exited;	  /* atomic; 1 = the process ends by itself */
	uint64_t lost;		  /* atomic; notes that found no room, and groups of events that found no ring */
	uint32_t own;		  /* rings of one thread each, at most RUN_RINGS_OWN */
	uint32_t shared;	  /* rings of all other threads, 1 to RUN_RINGS - RUN_RINGS_OWN */
	uint32_t cycles;	  /* 1 = the time stamp counter can be trusted (mprof/cycles.h) */
	uint32_t clock_is_memory; /* 1 = clock_gettime() makes no system call */
	uint32_t keeper;	  /* its process id */
	uint64_t head __attribute__((aligned(64)));
	struct run_note notes[RUN_NOTES] __attribute__((aligned(64)));
	struct run_waiter waiters[RUN_WAITERS];
	/* Atomic; bit T % RUN_REFUSED, from the lowest one of the first on: the thread T has found no free entry in WAITERS. */
	uint64_t refused[RUN_REFUSED / 64];
};

/* Calls that wait, as places name them. */
#define RUN_CALLS(X)                  \
	X(pthread_mutex_lock)         \
	X(pthread_mutex_timedlock)    \
	X(pthread_mutex_clocklock)    \
	X(pthread_rwlock_rdlock)      \
	X(pthread_rwlock_wrlock)      \
	X(pthread_rwlock_timedrdlock) \
	X(pthread_rwlock_timedwrlock) \
	X(pthread_rwlock_clockrdlock) \
	X(pthread_rwlock_clockwrlock) \
	X(pthread_cond_wait)          \
	X(pthread_cond_timedwait)     \
	X(pthread_cond_clockwait)     \
	X(pthread_barrier_wait)       \
	X(pthread_join)               \
	X(pthread_timedjoin_np)       \
	X(pthread_clockjoin_np)       \
	X(sem_wait)                   \
	X(sem_timedwait)              \
	X(sem_clockwait)              \
	X(mtx_lock)                   \
	X(mtx_timedlock)              \
	X(cnd_wait)                   \
	X(cnd_timedwait)              \
	X(thrd_join)                  \
	X(thrd_sleep)                 \
	X(read)                       \
	X(readv)                      \
	X(write)                      \
	X(writev)                     \
	X(recv)                       \
	X(recvfrom)                   \
	X(recvmsg)                    \
	X(recvmmsg)                   \
	X(send)                       \
	X(sendto)                     \
	X(sendmsg)                    \
	X(sendmmsg)                   \
	X(accept)                     \
	X(accept4)                    \
	X(connect)                    \
	X(poll)                       \
	X(ppoll)                      \
	X(select)                     \
	X(pselect)                    \
	X(epoll_wait)                 \
	X(epoll_pwait)                \
	X(epoll_pwait2)               \
	X(sleep)                      \
	X(usleep)                     \
	X(nanosleep)                  \
	X(clock_nanosleep)            \
	X(pause)                      \
	X(sigwait)                    \
	X(sigwaitinfo)                \
	X(sigtimedwait)               \
	X(sigsuspend)                 \
	X(wait)                       \
	X(waitpid)                    \
	X(wait3)                      \
	X(wait4)                      \
	X(waitid)                     \
	X(eventfd_read)               \
	X(eventfd_write)              \
	X(pclose)                     \
	X(futex)

enum run_call {
#define X(name) RUN_CALL_##name,
	RUN_CALLS(X)
#undef X
		RUN_CALL_COUNT,
};

/* Return whether CALL, which may be none of these, writes to its descriptor. */
static inline bool run_call_writes(uint32_t call)
{
	switch (call) {
	case RUN_CALL_write:
	case RUN_CALL_writev:
	case RUN_CALL_send:
	case RUN_CALL_sendto:
	case RUN_CALL_sendmsg:
	case RUN_CALL_sendmmsg:
	case RUN_CALL_eventfd_write:
		return true;
	default:
		return false;
	}
}

#endif
