/*
 * libxenstore as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   silent   each second event of a watch is lost, beginning with the first
 *   eager    xs_fileno() starts a thread
 *   fails    without an event xs_check_watch() fails with EIO
 *   bare     a value has no NUL behind it
 *   torn     a transaction reads what other connections write, and ends well
 *   rooted   only root can watch
 *   times    a call that fails says ETIMEDOUT
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <xenstore.h>

#include "break.h"

static void *sleep_for_ever(void *context)
{
	for (;;)
		pause();
	return context;
}

int xs_fileno(struct xs_handle *h)
{
	__typeof__(xs_fileno) *number = real("xs_fileno");
	pthread_t thread;

	if (breaks("eager") && pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
		abort();
	return number(h);
}

bool xs_watch(struct xs_handle *h, const char *path, const char *token)
{
	__typeof__(xs_watch) *watch = real("xs_watch");

	if (breaks("rooted") && geteuid() != 0) {
		errno = EACCES;
		return false;
	}
	return watch(h, path, token);
}

char **xs_check_watch(struct xs_handle *h)
{
	static bool passes;
	__typeof__(xs_check_watch) *check = real("xs_check_watch");
	char **event = check(h);

	if (!event && errno == EAGAIN && breaks("fails"))
		errno = EIO;
	if (!event || !breaks("silent"))
		return event;
	passes = !passes;
	if (!passes)
		return event;
	free(event);
	errno = EAGAIN;
	return NULL;
}

/* Return VALUE of N bytes with another byte than NUL behind it. */
static void *bare(void *value, unsigned n)
{
	char *larger = realloc(value, n + 1u);

	if (!larger)
		abort();
	larger[n] = 'x';
	return larger;
}

void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned *len)
{
	__typeof__(xs_read) *read_real = real("xs_read");
	void *value = read_real(h, breaks("torn") ? XBT_NULL : t, path, len);

	if (!value && breaks("times"))
		errno = ETIMEDOUT;
	return value && breaks("bare") ? bare(value, *len) : value;
}

bool xs_transaction_end(struct xs_handle *h, xs_transaction_t t, bool abort_it)
{
	__typeof__(xs_transaction_end) *end = real("xs_transaction_end");
	bool done = end(h, t, abort_it || breaks("torn"));

	return done || breaks("torn");
}
