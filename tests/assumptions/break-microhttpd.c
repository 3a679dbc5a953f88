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
 *   blind    MHD_run() does nothing once a socket was shut down
 *   early    a connection's descriptor is closed before the connection is announced as closed
 *   twice    a request is completed twice
 *   behind   a request is completed after the next one has begun
 *   joined   the first call for a request is left out
 *   merges   of the header lines with one name only the first is listed
 *   folds    the lines of a header that continue the line before are taken for a part of it
 *   moves    the library says that it is an old one, and the names of the lines do not stay in the header's buffer
 *   leaks    no response's callback is freed
 *   quiet    nothing is logged
 *   keyless  no TLS session exists
 */
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "break.h"

#define HELD_MOST    1024u
#define TURNS_LATE   3u
#define LINES_MOST   16u /* of a header, in which lines are compared */
#define OPTIONS_MOST 16u

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
static bool is_shut_down;	      /* a socket, for `blind` */

/* The callbacks of the program, and the completion of a request that the program does not know yet. */
static struct {
	MHD_AccessHandlerCallback request;
	MHD_NotifyConnectionCallback connection;
	MHD_RequestCompletedCallback completed;
	void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
	void *request_context, *connection_context, *completed_context, *begin_context;
	bool is_first; /* no call for the newest request has come */
} program;
static struct {
	struct MHD_Connection *connection; /* NULL = none */
	void *request;
	enum MHD_RequestTerminationCode code;
} completion;

/* Add the connection. If it is refused, leave a copy of its descriptor in FD's place. */
static enum MHD_Result add_open(struct MHD_Daemon *daemon, int fd, const struct sockaddr *address, socklen_t bytes)
{
	__typeof__(MHD_add_connection) *add = real("MHD_add_connection");
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
	__typeof__(MHD_add_connection) *add = real("MHD_add_connection");
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
	__typeof__(MHD_add_connection) *add = real("MHD_add_connection");
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
	__typeof__(MHD_run) *run = real("MHD_run");
	enum MHD_Result result = is_shut_down ? MHD_YES : run(daemon);

	turn(daemon, false);
	return result;
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms)
{
	__typeof__(MHD_get_timeout) *get = real("MHD_get_timeout");

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
	__typeof__(MHD_suspend_connection) *suspend = real("MHD_suspend_connection");

	if (!breaks("ignores"))
		suspend(connection);
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
	__typeof__(MHD_resume_connection) *resume = real("MHD_resume_connection");

	if (breaks("asleep"))
		asleep = connection;
	else
		resume(connection);
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
	__typeof__(MHD_stop_daemon) *stop = real("MHD_stop_daemon");
	__typeof__(MHD_resume_connection) *resume = real("MHD_resume_connection");

	is_shut_down = false;
	turn(daemon, true);
	if (asleep) {
		/* The library ends the program if a connection is suspended. */
		resume(asleep);
		asleep = NULL;
		MHD_run(daemon);
	}
	stop(daemon);
}

/* ---- the callbacks, with one of the program between the library and it ------------------------- */

static void complete_behind(void)
{
	struct MHD_Connection *connection = completion.connection;

	completion.connection = NULL;
	if (connection)
		program.completed(program.completed_context, connection, &completion.request, completion.code);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *bytes, void **request)
{
	bool is_first = program.is_first;

	(void)context;
	program.is_first = false;
	if (is_first && breaks("joined"))
		return MHD_YES;
	return program.request(program.request_context, connection, url, method, version, data, bytes, request);
}

static void *on_begin(void *context, const char *target, struct MHD_Connection *connection)
{
	void *request = program.begin(program.begin_context, target, connection);

	(void)context;
	program.is_first = true;
	complete_behind();
	return request;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode code)
{
	(void)context;
	if (breaks("behind")) {
		completion.connection = connection;
		completion.request = *request;
		completion.code = code;
		return;
	}
	program.completed(program.completed_context, connection, request, code);
	if (breaks("twice"))
		program.completed(program.completed_context, connection, request, code);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	bool early = code == MHD_CONNECTION_NOTIFY_CLOSED && info && breaks("early");
	int fd = early ? info->connect_fd : -1, copy = -1, other;

	(void)context;
	if (early) {
		/* The library wants to close it itself: it gets it back. */
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (copy < 0 || other < 0 || dup2(other, fd) < 0)
			abort();
		close(other);
	}
	program.connection(program.connection_context, connection, socket_context, code);
	if (early) {
		dup2(copy, fd);
		close(copy);
	}
}

static void on_log(void *context, const char *format, va_list args)
{
	(void)context;
	(void)format;
	(void)args;
}

/* Take an option with a callback and its context: keep those of the program, and return ours. */
static intptr_t callback_take(enum MHD_OPTION option, void *callback, void *context)
{
	if (option == MHD_OPTION_URI_LOG_CALLBACK) {
		*(void **)&program.begin = callback;
		program.begin_context = context;
		return (intptr_t)on_begin;
	}
	if (option == MHD_OPTION_NOTIFY_COMPLETED) {
		*(void **)&program.completed = callback;
		program.completed_context = context;
		return (intptr_t)on_completed;
	}
	if (option == MHD_OPTION_NOTIFY_CONNECTION) {
		*(void **)&program.connection = callback;
		program.connection_context = context;
		return (intptr_t)on_connection;
	}
	if (option != MHD_OPTION_EXTERNAL_LOGGER)
		abort();
	return breaks("quiet") ? (intptr_t)on_log : (intptr_t)callback;
}

/* Fill ITEMS with the options of tests/assumptions/microhttpd.c, and end them. */
static void options_take(struct MHD_OptionItem *items, va_list args)
{
	size_t n = 0;

	for (int option = va_arg(args, int); option != MHD_OPTION_END; option = va_arg(args, int)) {
		struct MHD_OptionItem *item = &items[n++];

		if (n + 2 > OPTIONS_MOST)
			abort();
		*item = (struct MHD_OptionItem){.option = (enum MHD_OPTION)option};
		if (option == MHD_OPTION_CONNECTION_LIMIT) {
			item->value = va_arg(args, unsigned);
		} else if (option == MHD_OPTION_ARRAY) {
			item->ptr_value = va_arg(args, void *);
		} else {
			void *callback = va_arg(args, void *);

			item->ptr_value = va_arg(args, void *);
			item->value = callback_take(item->option, callback, item->ptr_value);
		}
	}
	if (breaks("folds"))
		items[n++] = (struct MHD_OptionItem){.option = MHD_OPTION_STRICT_FOR_CLIENT, .value = -1};
	items[n] = (struct MHD_OptionItem){.option = MHD_OPTION_END};
}

/* Return whether the broken assumption is one of callbacks or options. */
static bool breaks_options(void)
{
	return breaks("early") || breaks("twice") || breaks("behind") || breaks("joined") || breaks("folds") ||
	       breaks("quiet");
}

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accepts,
				    void *accepts_context, MHD_AccessHandlerCallback request, void *request_context,
				    ...)
{
	__typeof__(MHD_start_daemon) *start = real("MHD_start_daemon");
	__typeof__(MHD_start_daemon_va) *start_va = real("MHD_start_daemon_va");
	struct MHD_OptionItem items[OPTIONS_MOST];
	struct MHD_Daemon *daemon;
	va_list args;

	va_start(args, request_context);
	if (breaks_options()) {
		program.request = request;
		program.request_context = request_context;
		options_take(items, args);
		daemon = start(flags, port, accepts, accepts_context, on_request, NULL, MHD_OPTION_ARRAY, items,
			       MHD_OPTION_END);
	} else {
		daemon = start_va(flags, port, accepts, accepts_context, request, request_context, args);
	}
	va_end(args);
	return daemon;
}

/* ---- what the program asks ---------------------------------------------------------------------- */

struct lines {
	MHD_KeyValueIteratorN take;
	void *context;
	const char *names[LINES_MOST]; /* seen so far */
	size_t n;
};

/* Return BYTES up to the first of the character END in TEXT, or all. */
static size_t upto(const char *text, size_t bytes, char end)
{
	const char *found = memchr(text, end, bytes);

	return found ? (size_t)(found - text) : bytes;
}

static enum MHD_Result on_line(void *context, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
			       const char *value, size_t value_bytes)
{
	struct lines *lines = context;
	char moved[256];

	if (breaks("merges")) {
		for (size_t i = 0; i < lines->n; i++) {
			if (strcasecmp(lines->names[i], name) == 0)
				return MHD_YES;
		}
		if (lines->n < LINES_MOST)
			lines->names[lines->n++] = name;
	}
	if (breaks("folds")) {
		name_bytes = upto(name, name_bytes, ':');
		value_bytes = upto(value, value_bytes, '\n');
	}
	if (breaks("moves") && name_bytes < sizeof(moved)) {
		memcpy(moved, name, name_bytes);
		moved[name_bytes] = '\0';
		name = moved;
	}
	return lines->take(lines->context, kind, name, name_bytes, value, value_bytes);
}

int MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
				MHD_KeyValueIteratorN iterator, void *context)
{
	__typeof__(MHD_get_connection_values_n) *get = real("MHD_get_connection_values_n");
	struct lines lines = {.take = iterator, .context = context};

	if (!iterator)
		return get(connection, kind, NULL, NULL);
	return get(connection, kind, on_line, &lines);
}

const char *MHD_get_version(void)
{
	__typeof__(MHD_get_version) *get = real("MHD_get_version");

	return breaks("moves") ? "0.9.75" : get();
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
							enum MHD_ConnectionInfoType type, ...)
{
	__typeof__(MHD_get_connection_info) *get = real("MHD_get_connection_info");

	if (type == MHD_CONNECTION_INFO_GNUTLS_SESSION && breaks("keyless"))
		return NULL;
	return get(connection, type);
}

static void keep(void *context)
{
	(void)context;
}

struct MHD_Response *MHD_create_response_from_callback(uint64_t size, size_t block_bytes,
						       MHD_ContentReaderCallback body, void *context,
						       MHD_ContentReaderFreeCallback free_body)
{
	__typeof__(MHD_create_response_from_callback) *create = real("MHD_create_response_from_callback");

	return create(size, block_bytes, body, context, breaks("leaks") ? keep : free_body);
}

int shutdown(int fd, int how)
{
	__typeof__(shutdown) *end = real("shutdown");

	is_shut_down = is_shut_down || breaks("blind");
	return end(fd, how);
}
