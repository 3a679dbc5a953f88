/*
 * Assumptions about libxenstore, over a running store: XENSTORED_PATH is its socket, MPROF_STORE its process, which the last test kills.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xenstore.h>

#include "assumption.h"

#define PATIENCE_MS 60000

/* Wait for the next event of STORE. Return it, to be freed, or NULL: none came. */
static char **wait_event(struct xs_handle *store)
{
	struct pollfd p = {.fd = xs_fileno(store), .events = POLLIN};

	return poll(&p, 1, PATIENCE_MS) > 0 ? xs_check_watch(store) : NULL;
}

static bool expect(struct xs_handle *store, const char *path, const char *token)
{
	char **event = wait_event(store);
	bool same = event && strcmp(event[XS_WATCH_PATH], path) == 0 && strcmp(event[XS_WATCH_TOKEN], token) == 0;

	free(event);
	return same;
}

static bool is_readable(struct xs_handle *store)
{
	struct pollfd p = {.fd = xs_fileno(store), .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static unsigned threads(void)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void thread_at_first_watch(void)
{
	struct xs_handle *store = xs_open(0);
	unsigned before = threads(), length = 0;

	if (!CHECK(store))
		return;
	free(xs_read(store, XBT_NULL, "/", &length));
	CHECK(xs_fileno(store) >= 0);
	CHECK_EQ_UINT(threads(), before);
	CHECK(xs_watch(store, "/assumption", "t"));
	CHECK_EQ_UINT(threads(), before + 1);
	xs_close(store);
	CHECK_EQ_UINT(threads(), before);
}

static void first_event_at_once(void)
{
	struct xs_handle *store = xs_open(0);

	if (!CHECK(store))
		return;
	CHECK(xs_fileno(store) >= 0);
	CHECK(xs_watch(store, "/assumption/none", "token 1"));
	CHECK(expect(store, "/assumption/none", "token 1"));
	CHECK(xs_watch(store, "@releaseDomain", "token 2"));
	CHECK(expect(store, "@releaseDomain", "token 2"));
	xs_close(store);
}

static void readable_while_events_wait(void)
{
	struct xs_handle *store = xs_open(0);

	if (!CHECK(store))
		return;
	CHECK(xs_fileno(store) >= 0);
	CHECK(xs_watch(store, "/assumption", "t"));
	CHECK(expect(store, "/assumption", "t"));
	errno = 0;
	CHECK(!xs_check_watch(store));
	CHECK_EQ_INT(errno, EAGAIN);
	CHECK(!is_readable(store));
	CHECK(xs_write(store, XBT_NULL, "/assumption/a", "1", 1));
	CHECK(xs_write(store, XBT_NULL, "/assumption/b", "1", 1));
	CHECK(expect(store, "/assumption/a", "t"));
	CHECK(expect(store, "/assumption/b", "t"));
	CHECK(!is_readable(store));
	xs_close(store);
}

static void values_and_names(void)
{
	struct xs_handle *store = xs_open(0);
	unsigned length = 0, n = 9;
	char **names, *value;

	if (!CHECK(store))
		return;
	CHECK(xs_write(store, XBT_NULL, "/assumption/value", "a\0b", 3));
	value = xs_read(store, XBT_NULL, "/assumption/value", &length);
	CHECK_EQ_UINT(length, 3);
	CHECK_EQ_MEM(value, "a\0b", 4); /* with a NUL behind it */
	free(value);
	names = xs_directory(store, XBT_NULL, "/assumption/value", &n);
	CHECK(names && n == 0); /* a node without children is no error */
	free(names);
	names = xs_directory(store, XBT_NULL, "/assumption", &n);
	CHECK(names && n >= 1 && strcmp(names[n - 1], "value") == 0);
	free(names); /* one block: AddressSanitizer would report the rest */
	errno = 0;
	CHECK(!xs_read(store, XBT_NULL, "/assumption/absent", &length));
	CHECK_EQ_INT(errno, ENOENT);
	errno = 0;
	CHECK(!xs_directory(store, XBT_NULL, "/assumption/absent", &n));
	CHECK_EQ_INT(errno, ENOENT);
	xs_close(store);
}

/* Write DIGIT to both nodes of the test. */
static bool write_both(struct xs_handle *store, const char *digit)
{
	return xs_write(store, XBT_NULL, "/assumption/first", digit, 1) &&
	       xs_write(store, XBT_NULL, "/assumption/second", digit, 1);
}

/* xenstored refuses a transaction that read what another one wrote. oxenstored shows it the old values. */
static void transaction_of_one_moment(void)
{
	struct xs_handle *store = xs_open(0), *other = xs_open(0);
	char *first, *second;
	xs_transaction_t t;
	unsigned length;

	if (!CHECK(store && other) || !CHECK(write_both(other, "1")))
		return;
	t = xs_transaction_start(store);
	CHECK(t != XBT_NULL);
	first = xs_read(store, t, "/assumption/first", &length);
	CHECK_EQ_STR(first, "1");
	CHECK(write_both(other, "2"));
	second = xs_read(store, t, "/assumption/second", &length);
	errno = 0;
	if (xs_transaction_end(store, t, false))
		CHECK_EQ_STR(second, "1");
	else
		CHECK_EQ_INT(errno, EAGAIN);
	free(first);
	free(second);
	t = xs_transaction_start(store);
	free(xs_read(store, t, "/assumption/first", &length));
	CHECK(xs_transaction_end(store, t, false));
	xs_close(other);
	xs_close(store);
}

/* A child opens the store, gives up root, and only then watches: as mprofd does. */
static void works_without_rights(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct xs_handle *store = xs_open(0);

		if (!store || (geteuid() == 0 && setuid(65534) != 0) || xs_fileno(store) < 0 ||
		    !xs_watch(store, "/assumption", "t"))
			_exit(1);
		_exit(expect(store, "/assumption", "t") ? 0 : 2);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ_INT(status, 0);
}

static bool is_lost(int error)
{
	return error == 0 || error == EINVAL || error == EBADF || error == ECONNRESET || error == ENOTCONN ||
	       error == EPIPE;
}

/* store_failure() and xen_store_event() of daemon/xen/xen.c. */
static void lost_says_so(void)
{
	const char *text = getenv("MPROF_STORE");
	struct xs_handle *store = xs_open(0);
	unsigned length;

	if (!CHECK(store && text))
		return;
	CHECK(xs_fileno(store) >= 0);
	CHECK(xs_watch(store, "/assumption", "t"));
	CHECK(expect(store, "/assumption", "t"));
	CHECK(kill((pid_t)strtol(text, NULL, 10), SIGKILL) == 0);
	errno = 0;
	CHECK(!xs_read(store, XBT_NULL, "/assumption/value", &length));
	CHECK(is_lost(errno));
	for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
		errno = 0;
		if (!CHECK(!xs_check_watch(store)) || errno != EAGAIN)
			break;
		usleep(1000); /* libxenstore's thread notices it a moment later */
	}
	CHECK(errno != EAGAIN);
	CHECK(!xs_get_domain_path(store, 0));
	xs_close(store);
}

int main(int argc, char **argv)
{
	static const struct assumption all[] = {
		{"xenstore-thread-at-first-watch", thread_at_first_watch},
		{"xenstore-first-event-at-once", first_event_at_once},
		{"xenstore-readable-while-events-wait", readable_while_events_wait},
		{"xenstore-values-and-names", values_and_names},
		{"xenstore-transaction-of-one-moment", transaction_of_one_moment},
		{"xenstore-works-without-rights", works_without_rights},
		{"xenstore-lost-says-so", lost_says_so},
	};

	return assumptions_run(all, sizeof(all) / sizeof(*all), argc, argv);
}
