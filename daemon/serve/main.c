/* mprofd-http: parse the options, open the sockets, and run the event loop. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "config.h"
#include "fleet-registry.h"
#include "log.h"
#include "mprofd-http-options.h"
#include "reader-process.h"
#include "routes.h"
#include "server.h"
#include "stdio-pump.h"
#include "token-command.h"

#if FLEET
#include "hub-routes.h"
#include "hub-server.h"
#include "postgres.h"
#endif

struct arguments {
	struct program_options options;
	pid_t pump; /* the process of --stdio; 0 = none */
	struct token_command token;
};

/* Return the table of a hub's routes. */
static const struct routes *hub_table(void)
{
#if FLEET
	return &hub_routes;
#else
	return &api_routes;
#endif
}

/* Print that WHAT is wrong with the arguments. Return the exit code. */
static int wrong(const char *what)
{
	fprintf(stderr, "mprofd-http: %s; see mprofd-http --help\n", what);
	return 2;
}

/* Check which options O were given together, and WORD, the first other word or NULL. Return -1, or the exit code. */
static int check_options(const struct program_options *o, const char *word)
{
	char sentence[512], what[600];

	if (o->fleet && !fleet_connection_ok(o->fleet, sentence, sizeof(sentence))) {
		snprintf(what, sizeof(what), "--fleet: %s", sentence);
		return wrong(what);
	}
	if (o->stdio != (o->as != NULL))
		return wrong("--stdio and --as NAME go together");
	if (!o->token && (o->n_scope || o->days))
		return wrong("--scope and --days go with --token new NAME");
	if (!o->token && word) {
		snprintf(what, sizeof(what), "%s is no option", word);
		return wrong(what);
	}
	return -1;
}

/* Take the arguments into *A. Return -1, or the exit code. */
static int parse_arguments(struct arguments *a, int argc, char **argv)
{
	struct program_options *o = &a->options;
	int r;

	*a = (struct arguments){.options.run = "/run/mprofd"};
	r = program_options_take(o, VERSION, argc, argv);
	if (r >= 0)
		return r;
	if (o->routes) {
		routes_print(o->fleet ? hub_table() : &api_routes, stdout);
		return 0;
	}
	a->token = (struct token_command){
		.verb = o->token,
		.words = (const char *const *)argv + optind,
		.n_words = (size_t)(argc - optind),
		.scopes = o->scope,
		.n_scopes = o->n_scope,
		.days = o->days,
	};
	return check_options(o, argv[optind]);
}

/* Return whether one of the N sockets that systemd passed has the path of WHERE, or its port. */
static bool is_passed(const char *where, int n)
{
	const bool local = strncmp(where, "unix:", 5) == 0;
	const char *colon = strrchr(where, ':');
	const long port = local || !colon ? 0 : strtol(colon + 1, NULL, 10);
	int same;

	if (!local && (port <= 0 || port > UINT16_MAX))
		return false;
	for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++) {
		same = local ? sd_is_socket_unix(fd, SOCK_STREAM, 1, where + strlen("unix:"), 0)
			     : sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, (uint16_t)port);
		if (same > 0)
			return true;
	}
	return false;
}

/*
 * Listen on WHERE, unless one of the N sockets that systemd passed serves it. A socket of the same
 * port serves it if the kernel refuses the address because it is in use. Return as http_listen().
 */
static int listen_beside(struct http *h, const char *where, int n, char *sentence, size_t size)
{
	const bool passed = is_passed(where, n);
	int rc;

	if (passed && strncmp(where, "unix:", 5) == 0)
		return 0;
	rc = http_listen(h, where, sentence, size);
	return passed && rc == -EADDRINUSE ? 0 : rc;
}

/*
 * Listen on the sockets that systemd passes, and on those of the options; without options on those
 * of the configuration, too; without any of these on the default socket. Return 0; or -errno, with a
 * sentence in SENTENCE (SIZE bytes).
 */
static int listen_all(struct http *h, const struct arguments *a, const struct config *c, char *sentence, size_t size)
{
	char path[512], **names = NULL;
	int n = sd_listen_fds_with_names(1, &names), rc = 0;

	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = http_adopt(h, SD_LISTEN_FDS_START + i, names[i], sentence, size);
		free(names[i]);
	}
	free(names);
	for (size_t i = 0; i < a->options.n_listen && rc == 0; i++)
		rc = http_listen(h, a->options.listen[i], sentence, size);
	if (a->options.n_listen)
		return rc;
	for (size_t i = 0; c->listen && c->listen[i] && rc == 0; i++)
		rc = listen_beside(h, c->listen[i], n, sentence, size);
	if (n > 0 || (c->listen && c->listen[0]))
		return rc;
	snprintf(path, sizeof(path), "unix:%s/http.sock", a->options.run);
	return http_listen(h, path, sentence, size);
}

/* Serve standard input and output. */
static int serve_stdio(struct http *h, struct arguments *a, char *sentence, size_t size)
{
	int fd, rc = stdio_pump(&fd, &a->pump);

	if (rc < 0) {
		snprintf(sentence, size, "cannot serve standard input: %s", strerror(-rc));
		return rc;
	}
	return http_serve(h, fd, sentence, size);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	(void)source;
	(void)info;
	access_refresh(context, true);
	return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	(void)info;
	(void)context;
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

/* The fleet's registry knows more. */
static void on_known(void *context)
{
	http_resume(context, WAIT_ACCESS);
}

static int loop_new(sd_event **event)
{
	sigset_t mask;
	int rc;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = sd_event_default(event);
	if (rc >= 0)
		rc = sd_event_add_signal(*event, NULL, SIGTERM, on_signal, NULL);
	if (rc >= 0)
		rc = sd_event_add_signal(*event, NULL, SIGINT, on_signal, NULL);
	if (rc >= 0)
		rc = sd_event_set_watchdog(*event, true);
	return rc < 0 ? rc : 0;
}

static struct http_options http_options_of(const struct config *c)
{
	return (struct http_options){.connections = c->connections,
				     .peer_connections = c->peer_connections,
				     .proxies = c->proxies,
				     .header_timeout_ns = c->header_timeout_ns,
				     .body_timeout_ns = c->body_timeout_ns,
				     .idle_timeout_ns = c->idle_timeout_ns};
}

/* Listen on H, and run the loop until it ends. */
static int run_loop(sd_event *event, struct http *h, struct arguments *a, const struct config *c, char *sentence,
		    size_t size)
{
	int rc = a->options.stdio ? serve_stdio(h, a, sentence, size) : listen_all(h, a, c, sentence, size);

	if (rc < 0)
		return rc;
	sd_notify(0, "READY=1");
	rc = sd_event_loop(event);
	sd_notify(0, "STOPPING=1");
	if (rc < 0)
		snprintf(sentence, size, "the event loop failed: %s", strerror(-rc));
	return rc;
}

/* Return the directory that systemd made for the unit's cache; NULL = there is none. */
static const char *cache_directory(void)
{
	const char *cache = getenv("CACHE_DIRECTORY");

	return cache && *cache ? cache : NULL;
}

/* Serve as a host. */
static int serve_host(sd_event *event, struct access *access, struct arguments *a, const struct config *c,
		      char *sentence, size_t size)
{
	CLEANUP(server_freep) struct server *s = NULL;
	struct server_options options = {.state = a->options.state ? a->options.state : "/var/lib/mprofd",
					 .run = a->options.run,
					 .access = access,
					 .http = http_options_of(c),
					 .sink = c->sink_listen && c->sink_listen[0],
					 .readings = c->http_reader && !a->options.stdio,
					 .cache = cache_directory(),
					 .decoded = c->http_decoded};
	int rc = server_new(&s, event, &options);

	if (rc < 0) {
		snprintf(sentence, size, "cannot start: %s", strerror(-rc));
		return rc;
	}
	return run_loop(event, server_http(s), a, c, sentence, size);
}

#if FLEET
#define END_S 2u

/* Return the directory for copies: what systemd made for the unit comes first. */
static const char *copies_directory(const struct arguments *a)
{
	const char *cache = cache_directory();

	if (a->options.state)
		return a->options.state;
	return cache ? cache : "/var/cache/mprofd-hub";
}

static void on_late(int signal)
{
	(void)signal;
	_exit(EXIT_SUCCESS);
}

/*
 * The process ends: it is over in END_S seconds, also if a thread waits for the database then, which can take half
 * a minute. The database has all that must be kept, and the next process removes what is left of the copies.
 */
static void limit_end(void)
{
	signal(SIGALRM, on_late);
	alarm(END_S);
}

/* Serve as the hub whose database is CONNECTION. */
static int serve_hub(sd_event *event, struct access *access, struct fleet_registry *registry, const char *connection,
		     struct arguments *a, const struct config *c, char *sentence, size_t size)
{
	CLEANUP(hub_server_freep) struct hub_server *s = NULL;
	struct hub_server_options options = {.connection = connection,
					     .copies = copies_directory(a),
					     .copies_bytes = c->http_copies_bytes,
					     .access = access,
					     .http = http_options_of(c)};
	int rc;

	rc = hub_server_new(&s, event, &options, sentence, size);
	if (rc < 0 && !sentence[0])
		snprintf(sentence, size, "cannot start: %s", strerror(-rc));
	if (rc == 0)
		fleet_registry_watch(registry, on_known, hub_server_http(s));
	if (rc == 0)
		rc = run_loop(event, hub_server_http(s), a, c, sentence, size);
	if (rc >= 0)
		limit_end();
	return rc;
}
#else
static int serve_hub(sd_event *event, struct access *access, struct fleet_registry *registry, const char *connection,
		     struct arguments *a, const struct config *c, char *sentence, size_t size)
{
	(void)event;
	(void)access;
	(void)registry;
	(void)connection;
	(void)a;
	(void)c;
	snprintf(sentence, size, "this mprofd-http was built without libpq, so it cannot serve a fleet");
	return -EOPNOTSUPP;
}
#endif

/* Create the registry of tokens and sessions of the hub whose database is CONNECTION. */
static int registry_new(struct fleet_registry **registry, sd_event *event, const char *connection, char *sentence,
			size_t size)
{
	char why[256];
	int rc;

	if (!fleet_connection_ok(connection, why, sizeof(why))) {
		snprintf(sentence, size, "\"%s\" is no connection string of libpq: %s", connection, why);
		return -EINVAL;
	}
	rc = fleet_registry_new(registry, event, connection);
	if (rc < 0)
		snprintf(sentence, size, "cannot start: %s", strerror(-rc));
	return rc;
}

static int serve(struct arguments *a, const struct config *c, char *sentence, size_t size)
{
	CLEANUP(sd_event_unrefp) sd_event *event = NULL;
	CLEANUP(fleet_registry_freep) struct fleet_registry *fleet = NULL;
	CLEANUP(access_freep) struct access *access = NULL;
	const char *connection = a->options.fleet ? a->options.fleet : c->http_fleet;
	struct registry registry = {0};
	int rc = loop_new(&event);

	if (rc < 0) {
		snprintf(sentence, size, "cannot start: %s", strerror(-rc));
		return rc;
	}
	if (*connection) {
		rc = registry_new(&fleet, event, connection, sentence, size);
		if (rc < 0)
			return rc;
		registry = fleet_registry(fleet);
	}
	rc = access_new(&access, c, a->options.as, fleet ? &registry : NULL, sentence, size);
	if (rc < 0)
		return rc;
	if (sd_event_add_signal(event, NULL, SIGHUP, on_reload, access) < 0) {
		snprintf(sentence, size, "cannot start: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return fleet ? serve_hub(event, access, fleet, connection, a, c, sentence, size)
		     : serve_host(event, access, a, c, sentence, size);
}

int main(int argc, char **argv)
{
	char sentence[512] = "";
	struct arguments a;
	struct config c;
	int rc;

	if (argc == 4 && strcmp(argv[1], READER_WORD) == 0)
		return reader_process_be(argv[2], argv[3]);
	log_init("mprofd-http");
	rc = parse_arguments(&a, argc, argv);
	if (rc >= 0)
		return rc;
	rc = config_load(&c, a.options.config, sentence, sizeof(sentence));
	if (rc == 0 && a.token.verb) {
		rc = token_command_run(&a.token, c.access_tokens,
				       a.options.fleet || !*c.http_fleet ? a.options.fleet : c.http_fleet);
		config_deinit(&c);
		return rc;
	}
	if (rc == 0) {
		rc = serve(&a, &c, sentence, sizeof(sentence));
		config_deinit(&c);
	}
	if (a.pump)
		stdio_pump_wait(a.pump);
	if (rc < 0)
		log_error("%s", sentence);
	return rc < 0 ? 1 : 0;
}
