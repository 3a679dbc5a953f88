/*
 * Threads: their creation, names, joins and ends.
 *
 * A thread introduces itself when it begins to run. A key's destructor sees each end of a thread:
 * return, pthread_exit() and cancellation.
 */
#include <errno.h>
#include <limits.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>

#include "kernel.h"
#include "real.h"
#include "seccomp.h"
#include "shim.h"

#define DESCRIPTOR_WORDS 512u /* 32-bit words of glibc's thread descriptor in which the tid is looked for */

static pthread_key_t end_key;
static bool end_key_made;
static size_t tid_word; /* place of the tid in a thread's descriptor; 0 = unknown */

/* Run the end after most other destructors: only the last round of destructors counts. */
static void on_end(void *round)
{
	uintptr_t n = (uintptr_t)round;

	if (n < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && pthread_setspecific(end_key, (void *)(n + 1)) == 0)
		return;
	self_end();
}

/* The handle of a thread is the address of its descriptor, and the descriptor has its tid. */
static void find_tid_word(void)
{
	const uint32_t *words = (const uint32_t *)(uintptr_t)pthread_self();
	long tid = KERNEL0(SYS_gettid);

	for (size_t i = 1; i < DESCRIPTOR_WORDS && !tid_word; i++)
		if (words[i] == (uint32_t)tid)
			tid_word = i;
}

/* Return the tid of THREAD, or 0 if it has ended or the tid cannot be found. */
static int tid_of(pthread_t thread)
{
	const uint32_t *words = (const uint32_t *)(uintptr_t)thread;

	return tid_word ? (int)__atomic_load_n(&words[tid_word], __ATOMIC_RELAXED) : 0;
}

int thread_tid_kept(void)
{
	return tid_of(pthread_self());
}

int thread_tid(void)
{
	return seccomp_is_on() ? thread_tid_kept() : (int)KERNEL0(SYS_gettid);
}

__attribute__((constructor(103))) static void prepare(void)
{
	end_key_made = pthread_key_create(&end_key, on_end) == 0;
	find_tid_word();
}

#define BEGINNINGS 64u

/* The beginning of a new thread. The thread returns it. */
struct beginning {
	void *(*run)(void *);
	int (*run_c11)(void *);
	void *argument;
	int creator;
	uint64_t time; /* before the creation; 0 = not known */
	bool taken;    /* atomic; one of BEGINNINGS, which has a thread */
};

/*
 * In a sandbox a beginning is one of these: the thread's first call of malloc() or free() makes system calls, and the
 * program may never call them.
 */
static struct beginning beginnings[BEGINNINGS];

/* Return a beginning, or NULL. Only its field TAKEN has a value. */
static struct beginning *beginning_get(void)
{
	if (!seccomp_is_on())
		return malloc(sizeof(struct beginning));
	for (size_t i = 0; i < BEGINNINGS; i++)
		if (!__atomic_exchange_n(&beginnings[i].taken, true, __ATOMIC_ACQUIRE))
			return &beginnings[i];
	return NULL;
}

static void beginning_return(struct beginning *b)
{
	if (b >= beginnings && b < beginnings + BEGINNINGS)
		__atomic_store_n(&b->taken, false, __ATOMIC_RELEASE);
	else
		free(b);
}

static struct beginning begin(void *argument)
{
	struct beginning b = *(struct beginning *)argument;
	struct self *s;

	beginning_return(argument);
	shim_self.creator = b.creator;
	shim_self.created = b.time;
	if (end_key_made)
		pthread_setspecific(end_key, (void *)1);
	s = self_enter();
	if (s)
		self_leave(s);
	return b;
}

static void *begin_posix(void *argument)
{
	struct beginning b = begin(argument);

	return b.run(b.argument);
}

static int begin_c11(void *argument)
{
	struct beginning b = begin(argument);

	return b.run_c11(b.argument);
}

static struct beginning *beginning_new(void *argument)
{
	struct beginning *b = beginning_get();
	struct self *s;

	if (!b)
		return NULL;
	b->time = 0;
	b->argument = argument;
	b->creator = thread_tid();
	s = self_enter();
	if (s) {
		b->time = now();
		self_leave(s);
	}
	return b;
}

WRAPPER int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
			   void *restrict argument)
{
	struct beginning *b = beginning_new(argument);
	int r;

	if (!b)
		return REAL(pthread_create)(thread, attributes, run, argument);
	b->run = run;
	r = REAL(pthread_create)(thread, attributes, begin_posix, b);
	if (r)
		beginning_return(b);
	return r;
}

WRAPPER int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
	struct beginning *b = beginning_new(argument);
	int r;

	if (!b)
		return REAL(thrd_create)(thread, run, argument);
	b->run_c11 = run;
	r = REAL(thrd_create)(thread, begin_c11, b);
	if (r != thrd_success)
		beginning_return(b);
	return r;
}

#define JOIN(call, ...)                                   \
	int tid = tid_of(thread);                         \
                                                          \
	if (!tid)                                         \
		return REAL(call)(thread, ##__VA_ARGS__); \
	return WAITING(call, tid, Task, 0, REAL(call)(thread, ##__VA_ARGS__), failure_code(result))

WRAPPER int pthread_join(pthread_t thread, void **value)
{
	JOIN(pthread_join, value);
}

WRAPPER int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
	JOIN(pthread_timedjoin_np, value, until);
}

WRAPPER int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock, const struct timespec *until)
{
	JOIN(pthread_clockjoin_np, value, clock, until);
}

WRAPPER int thrd_join(thrd_t thread, int *value)
{
	JOIN(thrd_join, value);
}

static void named(int tid, const char *name)
{
	struct self *s = self_enter();

	if (!s)
		return;
	note(now(), RUN_NOTE_NAME, tid, 0, 0, name);
	self_leave(s);
}

WRAPPER int pthread_setname_np(pthread_t thread, const char *name)
{
	int r = REAL(pthread_setname_np)(thread, name), tid = tid_of(thread);

	if (r == 0 && tid)
		named(tid, name);
	return r;
}

WRAPPER int prctl(int option, ...)
{
	unsigned long a[4];
	va_list list;
	struct seccomp_entry entry = {0};
	int r;

	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
		now_forbids_counter();
	if (option == PR_SET_SECCOMP)
		entry = seccomp_enters(a[0] == SECCOMP_MODE_STRICT);
	r = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
	seccomp_entered(&entry, r);
	if (option == PR_SET_NAME && r == 0)
		named(thread_tid(), (const char *)a[0]);
	return r;
}
