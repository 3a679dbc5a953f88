/*
 * The keys of a guest's streams, as schema/xenstore.md says. Relative paths are below the guest's own
 * node. The processes of the guest share the keys, so each change is a transaction.
 */
#include "xen-keys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xenstore.h>

#define STREAMS	    "data/mprof/stream"
#define NEXT	    "data/mprof/stream-next"
#define NUMBER_MAX  1023u
#define TRIES	    64u	     /* of a transaction; another process wins each time */
#define PAUSE_NS    2000000L /* between two of them, times the number of the try, modulo 8 */
#define START_FIELD 22u	     /* of /proc/PID/stat: when the process started */

/* ---- who a process is -------------------------------------------------------------------------- */

/*
 * Write when the process PID started, in the kernel's units, to *START. Return 0; -ESRCH if it has ended;
 * -ENOENT if nothing is seen of it; or the -errno by which that is unknown.
 */
static int started(uint32_t pid, uint64_t *start)
{
	char path[32], text[512], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	/* The second field may contain anything, and ends with the last parenthesis. */
	at = strrchr(text, ')');
	if (at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0))
		return -ESRCH; /* its parent has not noticed */
	for (unsigned field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EIO;
	*start = strtoull(at, NULL, 10);
	return 0;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

int xen_owner(char *text, size_t size)
{
	uint64_t start;
	int r = started((uint32_t)getpid(), &start);

	if (r)
		return r;
	snprintf(text, size, "%" PRIu32 ".%" PRIu64 ".%" PRIu64, (uint32_t)getpid(), start, pid_namespace());
	return 0;
}

/* Return whether OWNER is a process of this namespace that surely no longer runs. */
static bool owner_gone(const char *owner)
{
	uint64_t start, space, found;
	uint32_t pid;
	int r;

	if (sscanf(owner, "%" SCNu32 ".%" SCNu64 ".%" SCNu64, &pid, &start, &space) != 3 || !pid || pid > INT32_MAX ||
	    space != pid_namespace())
		return false;
	r = started(pid, &found);
	/* /proc may be absent, or hide the processes of other users. */
	if (r == -ENOENT)
		return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	return r ? r == -ESRCH : found != start;
}

/* ---- transactions ------------------------------------------------------------------------------ */

/* Return -errno of the call that has just failed. */
static int failure(void)
{
	return errno > 0 ? -errno : -EIO;
}

/*
 * Begin try N of a transaction in *T, or return -errno. Return -EAGAIN if there were too many.
 */
static int transaction_begin(struct xs_handle *store, unsigned n, xs_transaction_t *t)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS * (n % 8)};

	if (n == TRIES)
		return -EAGAIN;
	if (n)
		nanosleep(&pause, NULL);
	*t = xs_transaction_start(store);
	return *t == XBT_NULL ? failure() : 0;
}

/* End the transaction, undone if R is an error. Return 0 or -errno; -EAGAIN means: try again. */
static int transaction_end(struct xs_handle *store, xs_transaction_t t, int r)
{
	bool ended = xs_transaction_end(store, t, r != 0);

	return r ? r : ended ? 0 : failure();
}

static bool put(struct xs_handle *store, xs_transaction_t t, uint32_t number, const char *key, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), STREAMS "/%" PRIu32 "/%s", number, key);
	return xs_write(store, t, path, value, (unsigned)strlen(value));
}

static bool put_number(struct xs_handle *store, xs_transaction_t t, uint32_t number, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	return put(store, t, number, key, text);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* Return the numbers of the guest's streams in *NAMES, which the caller frees; none is no error. */
static int streams_list(struct xs_handle *store, xs_transaction_t t, char ***names, unsigned *n)
{
	*n = 0;
	*names = xs_directory(store, t, STREAMS, n);
	return *names || errno == ENOENT ? 0 : failure();
}

static bool is_taken(char **names, unsigned n, uint32_t number)
{
	for (unsigned i = 0; i < n; i++)
		if (strtoul(names[i], NULL, 10) == number)
			return true;
	return false;
}

/* Return where to begin to look for a free number. */
static uint32_t first_number(struct xs_handle *store, xs_transaction_t t)
{
	unsigned len;
	char *text = xs_read(store, t, NEXT, &len);
	unsigned long number = text ? strtoul(text, NULL, 10) : 1;

	free(text);
	return number >= 1 && number <= NUMBER_MAX ? (uint32_t)number : 1;
}

/* Find a free number. Return 0 or -errno. */
static int number_find(struct xs_handle *store, xs_transaction_t t, uint32_t *number)
{
	char **names;
	unsigned n;
	int r = streams_list(store, t, &names, &n);

	if (r == 0 && n >= MPROF_XEN_STREAMS_MAX)
		r = -ENOSPC;
	if (r == 0) {
		*number = first_number(store, t);
		while (is_taken(names, n, *number))
			*number = *number % NUMBER_MAX + 1;
	}
	free(names);
	return r;
}

/* ---- the keys of a stream ------------------------------------------------------------------------ */

size_t xen_refs_bytes(const uint32_t *refs, uint32_t n)
{
	size_t bytes = n - 1; /* commas */

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t rest = refs[i]; rest; rest /= 10)
			bytes++;
	return bytes;
}

static bool put_refs(struct xs_handle *store, xs_transaction_t t, uint32_t number, const struct mprof_xen_ring *r)
{
	char text[XEN_REFS_BYTES + 16];
	size_t n = 0;

	if (r->directory)
		return put_number(store, t, number, "directory-ref", r->directory);
	for (uint32_t i = 0; i < r->pages; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu32, i ? "," : "", r->refs[i]);
	return put(store, t, number, "ring-ref", text);
}

static bool put_next(struct xs_handle *store, xs_transaction_t t, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number % NUMBER_MAX + 1);
	return xs_write(store, t, NEXT, text, (unsigned)strlen(text));
}

int xen_keys_write(struct xs_handle *store, struct mprof_xen_ring *r, const char *owner, const char *name)
{
	uint32_t number = 0;
	xs_transaction_t t;
	int e = -EAGAIN;

	for (unsigned i = 0; e == -EAGAIN; i++) {
		e = transaction_begin(store, i, &t);
		if (e)
			return e;
		e = number_find(store, t, &number);
		if (e == 0 && (!put(store, t, number, "owner", owner) || !put(store, t, number, "name", name) ||
			       (r->port && !put_number(store, t, number, "event-channel", (uint32_t)r->port)) ||
			       !put_refs(store, t, number, r) || !put_next(store, t, number)))
			e = failure();
		e = transaction_end(store, t, e);
	}
	if (e == 0)
		r->stream = number;
	return e;
}

static int stream_remove(struct xs_handle *store, xs_transaction_t t, uint32_t number)
{
	char path[64];

	snprintf(path, sizeof(path), STREAMS "/%" PRIu32, number);
	return xs_rm(store, t, path) || errno == ENOENT ? 0 : failure();
}

int xen_keys_remove(struct xs_handle *store, struct mprof_xen_ring *const *r, size_t n)
{
	xs_transaction_t t;
	int e = -EAGAIN;

	for (unsigned i = 0; e == -EAGAIN; i++) {
		e = transaction_begin(store, i, &t);
		if (e)
			return e;
		for (size_t k = 0; k < n && e == 0; k++)
			e = r[k]->stream ? stream_remove(store, t, r[k]->stream) : 0;
		e = transaction_end(store, t, e);
	}
	for (size_t k = 0; k < n && e == 0; k++)
		r[k]->stream = 0;
	return e;
}

int xen_keys_count(struct xs_handle *store)
{
	char **names;
	unsigned n;
	int r = streams_list(store, XBT_NULL, &names, &n);

	free(names);
	return r ? r : (int)n;
}

/* Remove the stream NAME if its owner is gone, unless it changes meanwhile. */
static void stream_sweep(struct xs_handle *store, const char *name)
{
	xs_transaction_t t = xs_transaction_start(store);
	char path[96], *owner;
	unsigned len;
	bool gone;

	if (t == XBT_NULL)
		return;
	snprintf(path, sizeof(path), STREAMS "/%.16s/owner", name);
	owner = xs_read(store, t, path, &len);
	gone = owner && owner_gone(owner);
	free(owner);
	if (gone) {
		*strrchr(path, '/') = '\0';
		gone = xs_rm(store, t, path);
	}
	xs_transaction_end(store, t, !gone);
}

void xen_keys_sweep(struct xs_handle *store)
{
	char **names;
	unsigned n;

	if (streams_list(store, XBT_NULL, &names, &n) == 0)
		for (unsigned i = 0; i < n; i++)
			stream_sweep(store, names[i]);
	free(names);
}
