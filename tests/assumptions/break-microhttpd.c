/*
 * libmicrohttpd as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   late     a connection is announced three turns after MHD_add_connection()
 *   lost     each third connection is closed in the next turn, and never announced
 *   never    no connection is announced, nor closed before the daemon stops
 *   open     a connection that is refused stays open
 *   idle     MHD_get_timeout() never asks for a run
 *   ignores  MHD_suspend_connection() does nothing
 *   asleep   MHD_resume_connection() does nothing
 */
#include <dlfcn.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD_MOST  1024u
#define TURNS_LATE 3u

struct held {
	struct MHD_Daemon *daemon;
	int fd;
	struct sockaddr_storage address;
	socklen_t bytes;
	unsigned turns; /* until the connection is added or closed */
	bool lost;
};

static struct held held[HELD_MOST]; /* oldest first */
static size_t n_held, n_added;
static struct MHD_Connection *asleep; /* the connection that was not resumed */

static bool breaks(const char *how)
{
	const char *chosen = getenv("MPROF_BREAK");

	return chosen && strcmp(chosen, how) == 0;
}

/* Return the function NAME of the real library. */
static void *real(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

/* Add the connection. If it is refused, leave a copy of its descriptor in FD's place. */
static enum MHD_Result add_open(struct MHD_Daemon *daemon, int fd, const struct sockaddr *address, socklen_t bytes)
{
	enum MHD_Result (*add)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t) =
		(enum MHD_Result(*)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t))real(
			"MHD_add_connection");
	int copy = dup(fd);

	if (add(daemon, fd, address, bytes) == MHD_YES) {
		close(copy);
		return MHD_YES;
	}
	dup2(copy, fd);
	close(copy);
	return MHD_NO;
}

enum MHD_Result MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket fd, const struct sockaddr *address,
				   socklen_t bytes)
{
	enum MHD_Result (*add)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t) =
		(enum MHD_Result(*)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t))real(
			"MHD_add_connection");
	bool lost = breaks("lost") && ++n_added % 3 == 0;
	struct held *h;

	if (breaks("open"))
		return add_open(daemon, fd, address, bytes);
	if (!lost && !breaks("late") && !breaks("never"))
		return add(daemon, fd, address, bytes);
	if (n_held == HELD_MOST)
		abort();
	h = &held[n_held++];
	*h = (struct held){.daemon = daemon,
			   .fd = fd,
			   .bytes = bytes,
			   .turns = lost	      ? 1
				    : breaks("never") ? UINT_MAX
						      : TURNS_LATE,
			   .lost = lost};
	memcpy(&h->address, address, bytes);
	return MHD_YES;
}

/* Let one turn of DAEMON pass for its connections. STOPS: close them, because the daemon stops. */
static void turn(struct MHD_Daemon *daemon, bool stops)
{
	enum MHD_Result (*add)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t) =
		(enum MHD_Result(*)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t))real(
			"MHD_add_connection");
	size_t kept = 0;

	for (size_t i = 0; i < n_held; i++) {
		struct held *h = &held[i];

		if (h->daemon != daemon || (--h->turns && !stops))
			held[kept++] = *h;
		else if (h->lost || stops)
			close(h->fd);
		else
			add(h->daemon, h->fd, (const struct sockaddr *)&h->address, h->bytes);
	}
	n_held = kept;
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon)
{
	enum MHD_Result (*run)(struct MHD_Daemon *) = (enum MHD_Result(*)(struct MHD_Daemon *))real("MHD_run");
	enum MHD_Result result = run(daemon);

	turn(daemon, false);
	return result;
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms)
{
	enum MHD_Result (*get)(struct MHD_Daemon *, MHD_UNSIGNED_LONG_LONG *) =
		(enum MHD_Result(*)(struct MHD_Daemon *, MHD_UNSIGNED_LONG_LONG *))real("MHD_get_timeout");

	if (breaks("idle"))
		return MHD_NO;
	for (size_t i = 0; i < n_held; i++) {
		if (held[i].daemon != daemon || held[i].turns > TURNS_LATE)
			continue;
		*ms = 0;
		return MHD_YES;
	}
	return get(daemon, ms);
}

void MHD_suspend_connection(struct MHD_Connection *connection)
{
	void (*suspend)(struct MHD_Connection *) = (void (*)(struct MHD_Connection *))real("MHD_suspend_connection");

	if (!breaks("ignores"))
		suspend(connection);
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
	void (*resume)(struct MHD_Connection *) = (void (*)(struct MHD_Connection *))real("MHD_resume_connection");

	if (breaks("asleep"))
		asleep = connection;
	else
		resume(connection);
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
	void (*stop)(struct MHD_Daemon *) = (void (*)(struct MHD_Daemon *))real("MHD_stop_daemon");
	void (*resume)(struct MHD_Connection *) = (void (*)(struct MHD_Connection *))real("MHD_resume_connection");

	turn(daemon, true);
	if (asleep) {
		/* The library ends the program if a connection is suspended. */
		resume(asleep);
		asleep = NULL;
		MHD_run(daemon);
	}
	stop(daemon);
}
