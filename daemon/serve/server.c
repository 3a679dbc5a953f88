/*
 * The loop around libmicrohttpd.
 *
 * One MHD daemon per listener, driven by its epoll descriptor and its timeout.  What must wait (for a commit, for the collector, or for its
 * turn) is suspended; MHD does not notice when the client of a suspended connection leaves, so its socket is watched here meanwhile.
 * Invariant: an exchange that is suspended has a wait that is not WAIT_NONE, and is in the server's list.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "clock.h"
#include "events.h"
#include "listen.h"
#include "live.h"
#include "log.h"
#include "notice.h"
#include "routes.h"
#include "server.h"
#include "watch.h"

#define LISTENERS_MAX	  16u
#define CONNECTION_BYTES  (48u << 10) /* MHD's memory for one: headers in, headers out */
#define CONNECTION_IDLE_S 120u
#define TICK_US		  1000000u
#define STATUS_TICKS	  10u	     /* at most one status in so many ticks */
#define DISCARD_MOST	  (1u << 20) /* of an upload that is too long */

struct listener {
	struct server *server;
	struct MHD_Daemon *daemon;
	sd_event_source *io, *timer;
	char *path;
	bool tcp;
	bool resumed; /* MHD must run, and does not say so by its timeout or its descriptor */
};

struct server {
	sd_event *event;
	struct reader *reader;
	struct scratch scratch;
	struct notice *notice, *sink;
	struct memtraces_reader *memtraces;
	bool sink_wanted;
	struct watch *watch;
	unsigned connections;
	char host[256];
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
	struct exchange *exchanges;
	sd_event_source *again, *tick, *post;
	uint64_t ticks;
	char status[128]; /* what the service manager was told last */
	struct server_counts counts;
};

struct reader *exchange_reader(struct exchange *x)
{
	return x->server->reader;
}

struct memtraces_reader *exchange_memtraces(struct exchange *x)
{
	return x->server->memtraces;
}

bool exchange_sink_gone(const struct exchange *x)
{
	return x->server->sink_wanted && !notice_connected(x->server->sink);
}

struct scratch *exchange_scratch(struct exchange *x)
{
	return &x->server->scratch;
}

struct watch *exchange_watch(struct exchange *x)
{
	return x->server->watch;
}

void server_count(struct server *s, unsigned status)
{
	s->counts.refused += status >= 400 && status < 500;
	s->counts.failed += status >= 500;
}

struct server_counts server_counts(const struct server *s)
{
	struct server_counts c = s->counts;

	for (const struct exchange *x = s->exchanges; x; x = x->next) {
		c.open++;
		c.live += x->live != NULL;
		c.events += x->events != NULL;
	}
	c.connected = notice_connected(s->notice);
	c.sink_connected = notice_connected(s->sink);
	c.longest_read = reader_longest(s->reader);
	return c;
}

/* Asking the collector. */

void exchange_ask(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		  uint64_t patience)
{
	x->answer = (struct answer){.tag = notice_tag(x->server->notice)};
	x->answer.deadline = clock_mono() + patience;
	message_begin(w, text, size, verb, x->answer.tag);
}

void exchange_ask_sink(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		       uint64_t patience)
{
	x->answer = (struct answer){.tag = notice_tag(x->server->sink), .sink = true};
	x->answer.deadline = clock_mono() + patience;
	message_begin(w, text, size, verb, x->answer.tag);
}

bool exchange_send(struct exchange *x, const struct message_writer *w)
{
	return notice_send(x->answer.sink ? x->server->sink : x->server->notice, w);
}

/* Waiting. */

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct exchange *x = context;

	(void)source;
	(void)fd;
	(void)revents;
	x->gone = true;
	exchange_resume(x);
	return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source;
	(void)usec;
	exchange_resume(context);
	return 0;
}

void exchange_suspend(struct exchange *x, enum wait wait)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	/* Nothing waits for the collector without an end: where there is no timer, the answer counts as late at once. */
	if (wait == WAIT_ANSWER && sd_event_add_time(x->server->event, &x->late, CLOCK_MONOTONIC,
						     x->answer.deadline / 1000, 10000, on_late, x) < 0) {
		x->late = NULL;
		wait = WAIT_AGAIN;
	}
	x->wait = wait;
	MHD_suspend_connection(x->connection);
	if (wait == WAIT_AGAIN)
		sd_event_source_set_enabled(x->server->again, SD_EVENT_ONESHOT);
	else if (info && sd_event_add_io(x->server->event, &x->hangup, info->connect_fd, EPOLLRDHUP, on_hangup, x) < 0)
		x->hangup = NULL;
}

void exchange_resume(struct exchange *x)
{
	if (x->wait == WAIT_NONE)
		return;
	x->wait = WAIT_NONE;
	x->hangup = sd_event_source_disable_unref(x->hangup);
	x->late = sd_event_source_disable_unref(x->late);
	MHD_resume_connection(x->connection);
	for (size_t i = 0; i < x->server->n_listeners; i++)
		x->server->listeners[i].resumed = true;
}

static void resume_all(struct server *s, enum wait wait)
{
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->wait == wait)
			exchange_resume(x);
}

static int on_again(sd_event_source *source, void *context)
{
	(void)source;
	resume_all(context, WAIT_AGAIN);
	return 0;
}

/* The collector. */

static void on_commit(void *context)
{
	struct server *s = context;

	s->counts.commits++;
	resume_all(s, WAIT_COMMIT);
	watch_commit(s->watch);
}

static void on_news(void *context)
{
	resume_all(context, WAIT_EVENT);
}

static void answered(struct server *s, uint64_t tag, const struct message *m, bool sink)
{
	struct exchange *x;
	const char *text = message_value(m, "sentence");
	uint64_t status = 0;

	for (x = s->exchanges; x && !(x->wait == WAIT_ANSWER && x->answer.tag == tag && x->answer.sink == sink);
	     x = x->next)
		;
	if (!x)
		return;
	if (!text)
		text = message_value(m, "text");
	x->answer.arrived = true;
	x->answer.ok = strcmp(m->verb, "ok") == 0;
	message_number(m, "capture", &x->answer.capture);
	message_number(m, "recording", &x->answer.recording);
	message_number(m, "archiving", &x->answer.archiving);
	if (message_number(m, "status", &status) && status < 1000)
		x->answer.status = (unsigned)status;
	x->answer.text = text ? strdup(text) : NULL;
	exchange_resume(x);
}

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	answered(context, tag, m, false);
}

static void on_sink_answer(void *context, uint64_t tag, const struct message *m)
{
	answered(context, tag, m, true);
}

/* Who waits for that one waits in vain. */
static void lost(struct server *s, bool sink)
{
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->wait == WAIT_ANSWER && x->answer.sink == sink)
			exchange_resume(x);
}

static void on_lost(void *context)
{
	lost(context, false);
}

static void on_sink_commit(void *context)
{
	struct server *s = context;

	watch_commit(s->watch);
}

static void on_sink_lost(void *context)
{
	lost(context, true);
}

static const struct notice_calls notice_calls = {.commit = on_commit, .answer = on_answer, .lost = on_lost};
static const struct notice_calls sink_calls = {
	.commit = on_sink_commit, .answer = on_sink_answer, .lost = on_sink_lost};

void exchange_follow(struct exchange *x)
{
	struct message_writer w;
	uint32_t stream;
	char text[128];
	int64_t run;

	live_stream(x->live, &run, &stream);
	message_begin(&w, text, sizeof(text), "follow", notice_tag(x->server->notice));
	message_add_number(&w, "run", (uint64_t)run);
	message_add_number(&w, "stream", stream);
	notice_send(x->server->notice, &w);
}

/* Only what is new, and seldom: sending waits where the service manager does not read, and meanwhile nobody is served. */
static void say_status(struct server *s)
{
	struct server_counts c = server_counts(s);
	char text[128];

	if (s->ticks % STATUS_TICKS != 1)
		return;
	snprintf(text, sizeof(text), "STATUS=%llu requests under way, %llu of them live; %s",
		 (unsigned long long)c.open, (unsigned long long)c.live,
		 c.connected ? "the collector is connected" : "the collector is not there");
	if (strcmp(text, s->status) != 0)
		sd_notify(0, strcpy(s->status, text));
}

static int on_tick(sd_event_source *source, uint64_t usec, void *context)
{
	struct server *s = context;

	notice_tick(s->notice);
	notice_tick(s->sink);
	resume_all(s, WAIT_COMMIT); /* notices are only hints */
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->events)
			events_tick(x->events);
	watch_tick(s->watch);
	for (struct exchange *x = s->ticks++ % 2 ? NULL : s->exchanges; x; x = x->next)
		if (x->live)
			exchange_follow(x);
	say_status(s);
	sd_event_source_set_time(source, usec + TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Requests. */

static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
	struct listener *l = context;
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->server = l->server;
	x->connection = connection;
	x->tcp = l->tcp;
	x->parsed = request_parse(&x->request, target);
	x->next = l->server->exchanges;
	if (x->next)
		x->next->previous = x;
	l->server->exchanges = x;
	l->server->counts.requests++;
	return x;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *con_cls;

	(void)context;
	(void)connection;
	(void)code;
	if (!x)
		return;
	*con_cls = NULL;
	if (x->previous)
		x->previous->next = x->next;
	else
		x->server->exchanges = x->next;
	if (x->next)
		x->next->previous = x->previous;
	if (x->live)
		live_orphan(x->live);
	if (x->events)
		events_orphan(x->events);
	if (x->work)
		x->work_free(x->work);
	sd_event_source_disable_unref(x->hangup);
	sd_event_source_disable_unref(x->late);
	free(x->answer.text);
	free(x->upload);
	free(x);
}

/* Any web page can reach loopback: see that the client means this host, and that no foreign page sent it.  False: it was answered. */
static bool admit(struct exchange *x, bool unsafe)
{
	const char *host = exchange_header(x, MHD_HTTP_HEADER_HOST);
	const char *origin = exchange_header(x, MHD_HTTP_HEADER_ORIGIN), *site = exchange_header(x, "Sec-Fetch-Site");

	if (!x->tcp)
		return true;
	if (!request_host_ok(host, x->server->host)) {
		exchange_problem(x, MHD_HTTP_MISDIRECTED_REQUEST,
				 "The Host header does not name this host; use localhost, 127.0.0.1, [::1] or %s.",
				 x->server->host);
		return false;
	}
	if (unsafe && ((origin && !request_origin_ok(origin, x->server->host)) ||
		       (site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0))) {
		exchange_problem(x, MHD_HTTP_FORBIDDEN, "A page of another origin may not change anything here.");
		return false;
	}
	return true;
}

static bool verb_parse(const char *method, enum verb *verb)
{
	static const char *const methods[VERBS] = {"GET", "POST", "PATCH", "DELETE"};

	*verb = VERB_GET;
	if (strcmp(method, "HEAD") == 0)
		return true;
	for (*verb = VERB_GET; *verb < VERBS; (*verb)++)
		if (strcmp(method, methods[*verb]) == 0)
			return true;
	return false;
}

/* Find the route.  False: it was answered. */
static bool route(struct exchange *x, const char *method)
{
	const char *foreign;
	char allow[64];

	if (x->parsed != REQUEST_OK) {
		exchange_problem(x, x->parsed == REQUEST_TOO_LONG ? MHD_HTTP_URI_TOO_LONG : MHD_HTTP_BAD_REQUEST, "%s",
				 x->parsed == REQUEST_TOO_LONG ? "The address has more than 4096 bytes."
							       : "The address is not well-formed.");
		return false;
	}
	if (!admit(x, strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return false;
	x->route = route_find(&x->request, &x->parameter);
	if (!x->route) {
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "There is nothing here; /v1/openapi.yaml says what there is.");
		return false;
	}
	if (!verb_parse(method, &x->verb) || !x->route->handlers[x->verb]) {
		route_allow(x->route, allow);
		exchange_not_allowed(x, allow);
		return false;
	}
	foreign = route_foreign_query(x->route, &x->request);
	if (foreign)
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The query parameter %.100s is not known here, or comes twice.", foreign);
	else if (x->upload_bytes > EXCHANGE_UPLOAD_MAX)
		exchange_problem(x, MHD_HTTP_CONTENT_TOO_LARGE, "The body has more than %u bytes.",
				 EXCHANGE_UPLOAD_MAX);
	return !foreign && x->upload_bytes <= EXCHANGE_UPLOAD_MAX;
}

static enum MHD_Result run(struct exchange *x, const char *method)
{
	enum outcome outcome = OUTCOME_DONE;
	int rc;

	if (x->gone)
		return MHD_NO;
	if (x->route || route(x, method)) {
		rc = reader_ready(x->server->reader);
		(void)rc; /* opens again what was replaced; who reads learns the rest */
		outcome = x->route->handlers[x->verb](x);
	}
	if (outcome == OUTCOME_DONE)
		return x->answered ? MHD_YES : MHD_NO;
	exchange_suspend(x, outcome == OUTCOME_AGAIN ? WAIT_AGAIN : WAIT_ANSWER);
	return MHD_YES;
}

/* Keep what was sent, up to the limit; what is longer is read and forgotten, so that the refusal is seen. */
static enum MHD_Result take_upload(struct exchange *x, const char *data, size_t *bytes)
{
	size_t n = *bytes;

	*bytes = 0;
	if (x->upload_bytes + n > DISCARD_MOST)
		return MHD_NO;
	if (x->upload_bytes + n <= EXCHANGE_UPLOAD_MAX) {
		if (!x->upload)
			x->upload = malloc(EXCHANGE_UPLOAD_MAX);
		if (!x->upload)
			return MHD_NO;
		memcpy(x->upload + x->upload_bytes, data, n);
	}
	x->upload_bytes += n;
	return MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *bytes, void **con_cls)
{
	struct exchange *x = *con_cls;

	(void)context;
	(void)connection;
	(void)url;
	if (!x)
		return MHD_NO;
	if (!x->begun) { /* headers are there; the upload comes next */
		x->begun = true;
		x->http10 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
		return MHD_YES;
	}
	return *bytes ? take_upload(x, data, bytes) : run(x, method);
}

/* Listeners. */

static void on_mhd_log(void *context, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *context, const char *format, va_list args)
{
	char text[512];

	(void)context;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug("libmicrohttpd: %s", text);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct listener *l = context;

	(void)source;
	(void)fd;
	(void)revents;
	l->resumed = false;
	MHD_run(l->daemon);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	struct listener *l = context;

	(void)source;
	(void)usec;
	l->resumed = false;
	MHD_run(l->daemon);
	return 0;
}

/* After whatever happened: see when each daemon wants to run next. */
static int on_post(sd_event_source *source, void *context)
{
	struct server *s = context;
	MHD_UNSIGNED_LONG_LONG ms;

	(void)source;
	for (size_t i = 0; i < s->n_listeners; i++) {
		struct listener *l = &s->listeners[i];

		if (l->resumed) {
			ms = 0;
		} else if (MHD_get_timeout(l->daemon, &ms) != MHD_YES) {
			sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
			continue;
		}
		sd_event_source_set_time_relative(l->timer, ms * 1000);
		sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
	}
	return 0;
}

static int listener_start(struct server *s, struct listen_socket *socket)
{
	struct listener *l = &s->listeners[s->n_listeners];
	const union MHD_DaemonInfo *info;
	int rc;

	*l = (struct listener){.server = s, .tcp = socket->tcp, .path = TAKE_PTR(socket->path)};
	l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
				     on_request, l, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
				     MHD_OPTION_LISTEN_SOCKET, socket->fd, MHD_OPTION_URI_LOG_CALLBACK, on_target, l,
				     MHD_OPTION_NOTIFY_COMPLETED, on_completed, l, MHD_OPTION_CONNECTION_LIMIT,
				     s->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				     MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, MHD_OPTION_END);
	if (!l->daemon) {
		close(socket->fd);
		freep(&l->path);
		return -ENOMEM;
	}
	s->n_listeners++;
	info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -ENOTSUP;
	rc = sd_event_add_io(s->event, &l->io, info->epoll_fd, EPOLLIN, on_io, l);
	if (rc >= 0)
		rc = sd_event_add_time_relative(s->event, &l->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, l);
	if (rc >= 0)
		log_info("listening on %s", socket->where);
	return rc < 0 ? rc : 0;
}

static int listener_add(struct server *s, struct listen_socket *socket, char *sentence, size_t size)
{
	int rc = listener_start(s, socket);

	if (rc < 0)
		snprintf(sentence, size, "cannot serve %s: %s", socket->where, strerror(-rc));
	return rc;
}

static bool has_room(const struct server *s, char *sentence, size_t size)
{
	if (s->n_listeners < LISTENERS_MAX)
		return true;
	snprintf(sentence, size, "there can be at most %u listeners", LISTENERS_MAX);
	return false;
}

int server_listen(struct server *s, const char *text, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(s, sentence, size) ? listen_open(&socket, text, sentence, size) : -E2BIG;

	return rc < 0 ? rc : listener_add(s, &socket, sentence, size);
}

int server_adopt(struct server *s, int fd, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(s, sentence, size) ? listen_adopt(&socket, fd, sentence, size) : -E2BIG;

	return rc < 0 ? rc : listener_add(s, &socket, sentence, size);
}

/* The server. */

static int server_events(struct server *s)
{
	int rc = sd_event_add_defer(s->event, &s->again, on_again, s);

	if (rc >= 0)
		rc = sd_event_source_set_enabled(s->again, SD_EVENT_OFF);
	if (rc >= 0)
		rc = sd_event_add_time_relative(s->event, &s->tick, CLOCK_MONOTONIC, 0, 10000, on_tick, s);
	if (rc >= 0)
		rc = sd_event_add_post(s->event, &s->post, on_post, s);
	return rc < 0 ? rc : 0;
}

int server_new(struct server **sp, sd_event *event, const struct server_options *options)
{
	CLEANUP(server_freep) struct server *s = calloc(1, sizeof(*s));
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *sink = NULL;
	int rc;

	if (!s || asprintf(&path, "%s/collect.sock", options->run) < 0 ||
	    asprintf(&sink, "%s/sink/sink.sock", options->run) < 0)
		return -ENOMEM;
	s->sink_wanted = options->sink;
	s->event = event;
	s->connections = options->connections;
	if (gethostname(s->host, sizeof(s->host) - 1) < 0)
		strcpy(s->host, "localhost");
	rc = scratch_init(&s->scratch);
	if (rc == 0)
		rc = reader_new(&s->reader, options->state);
	if (rc == 0)
		rc = memtraces_reader_new(&s->memtraces, options->state);
	if (rc == 0)
		rc = watch_new(&s->watch, event, s->reader, s->memtraces, on_news, s);
	if (rc == 0)
		rc = notice_new(&s->notice, event, path, &notice_calls, s);
	if (rc == 0)
		rc = notice_new(&s->sink, event, sink, &sink_calls, s);
	if (rc == 0)
		rc = server_events(s);
	if (rc == 0)
		*sp = TAKE_PTR(s);
	return rc;
}

static void listener_stop(struct listener *l)
{
	sd_event_source_disable_unref(l->io);
	sd_event_source_disable_unref(l->timer);
	MHD_stop_daemon(l->daemon);
	if (l->path)
		unlink(l->path);
	free(l->path);
}

struct server *server_free(struct server *s)
{
	if (!s)
		return NULL;
	for (struct exchange *x = s->exchanges; x; x = x->next) {
		x->gone = true;
		exchange_resume(x);
	}
	for (size_t i = 0; i < s->n_listeners; i++)
		MHD_run(s->listeners[i].daemon); /* so that none is suspended when its daemon stops */
	for (size_t i = 0; i < s->n_listeners; i++)
		listener_stop(&s->listeners[i]);
	sd_event_source_disable_unref(s->again);
	sd_event_source_disable_unref(s->tick);
	sd_event_source_disable_unref(s->post);
	notice_free(s->notice);
	notice_free(s->sink);
	watch_free(s->watch);
	memtraces_reader_free(s->memtraces);
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	free(s);
	return NULL;
}
