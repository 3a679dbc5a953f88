/*
 * Waits in functions of a language's library, which lie on the stack between the program and the C library. Debug
 * information says where a function comes from, so a line directive makes one of the C++ library.
 */
#include <pthread.h>
#include <stdlib.h>

#include "target.h"

static pthread_mutex_t *lock;

int gthread_lock(pthread_mutex_t *m);

/* The lines of these two functions are those of a file of the C++ library. */
#line 740 "/usr/include/c++/12/bits/gthr-default.h"
__attribute__((noinline)) int gthread_lock(pthread_mutex_t *m)
{
	int result = pthread_mutex_lock(m);

	__asm__ volatile("" : "+r"(result));
	return result;
}

static inline __attribute__((always_inline)) int guard_lock(pthread_mutex_t *m)
{
	int result = pthread_mutex_lock(m);

	__asm__ volatile("" : "+r"(result));
	return result;
}
#line 32 "stacks.c"

/* The library's function is one of its own. */
static __attribute__((noinline)) void *pool_take(void *nothing)
{
	CHECK(gthread_lock(lock) == 0);
	return nothing;
}

/* The compiler has put it into this one. */
static __attribute__((noinline)) void *pool_give(void *nothing)
{
	CHECK(guard_lock(lock) == 0);
	return nothing;
}

/* Two threads wait for a lock that the main thread has. */
int program_library_locks(void)
{
	pthread_t taker, giver;

	lock = malloc(sizeof(pthread_mutex_t));
	CHECK(lock && pthread_mutex_init(lock, NULL) == 0);
	CHECK(pthread_mutex_lock(lock) == 0);
	CHECK(pthread_create(&taker, NULL, pool_take, NULL) == 0);
	CHECK(pthread_create(&giver, NULL, pool_give, NULL) == 0);
	return pthread_join(taker, NULL);
}
