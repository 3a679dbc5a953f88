/*
 * Assumptions about libmicrohttpd. Its daemon and its clients share one thread: the test sends bytes, runs the daemon and compares the
 * callbacks that came.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assumption.h"
#include "cleanup.h"

#define TURNS	    8u /* as TURNS_MOST of daemon/serve/http/client.c */
#define BODY_BYTES  (4u << 20)
#define BLOCK_BYTES 65536
#define LIMIT	    2u
#define GET	    "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

struct fixture {
	struct MHD_Daemon *daemon;
	struct MHD_Connection *connection; /* the newest */
	char log[1024];			   /* the callbacks, a word each */
	int fd;				   /* the daemon's descriptor of the newest connection */
	int client;			   /* the test's end */
	ino_t inode;			   /* of FD */
	bool is_open_at_close;		   /* FD was open when libmicrohttpd said that it closes the connection */
	bool is_first;			   /* no call for the request's header has come */
	bool suspends;			   /* suspend the next request when it is complete */
	bool answers_big;
	bool has_session; /* the connection had its TLS session when it was announced */
	gnutls_certificate_credentials_t credentials;
	size_t header_lines;
	const char *target; /* as the URI callback got it, with TARGET_BYTES */
	size_t target_bytes;
	const char *next;  /* where the next line of the header stands, if the header stays in its buffer */
	bool is_in_place;  /* the parts of the newest header stand one behind the other */
	bool is_logged;	   /* a line was logged while a header was complete, before the call for the request */
	bool is_malformed; /* a header has a name or a value that request_framing_ok() refuses */
};

static void note(struct fixture *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct fixture *f, const char *format, ...)
{
	size_t used = strlen(f->log);
	va_list args;

	va_start(args, format);
	vsnprintf(f->log + used, sizeof(f->log) - used, format, args);
	va_end(args);
}

static int connection_fd(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static bool is_same(const struct fixture *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && st.st_ino == f->inode;
}

static void on_started(struct fixture *f, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	gnutls_session_t session;

	f->connection = connection;
	note(f, "%s ", connection_fd(connection) == f->fd ? "started" : "foreign");
	/* Read the answer at once: from 1.0 on the next question overwrites it. */
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	session = info ? (gnutls_session_t)info->tls_session : NULL;
	f->has_session = f->credentials && session;
	if (f->has_session)
		gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, f->credentials);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct fixture *f = context;

	(void)socket_context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		on_started(f, connection);
		return;
	}
	note(f, "closed ");
	f->is_open_at_close = is_same(f);
}

static void *on_begin(void *context, const char *target, struct MHD_Connection *connection)
{
	struct fixture *f = context;

	f->is_first = true;
	f->target = target;
	f->target_bytes = strlen(target);
	note(f, "begin%s%s ", target, connection_fd(connection) == f->fd ? "" : "-foreign");
	return f;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode code)
{
	(void)connection;
	(void)code;
	note(context, "completed%s ", *con_cls == context ? "" : "-without-context");
}

static ssize_t on_body(void *context, uint64_t position, char *buffer, size_t size)
{
	(void)context;
	if (position >= BODY_BYTES)
		return MHD_CONTENT_READER_END_OF_STREAM;
	size = size < BODY_BYTES - position ? size : (size_t)(BODY_BYTES - position);
	memset(buffer, 'x', size);
	return (ssize_t)size;
}

static void on_body_free(void *context)
{
	note(context, "freed ");
}

static enum MHD_Result on_header(void *context, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
				 const char *value, size_t value_bytes)
{
	struct fixture *f = context;

	(void)kind;
	f->header_lines++;
	f->is_in_place &= name == f->next;
	f->next = value + value_bytes + 2;
	f->is_malformed |= memchr(name, ':', name_bytes) || memchr(value, '\n', value_bytes);
	return MHD_YES;
}

static enum MHD_Result answer(struct fixture *f, struct MHD_Connection *connection)
{
	struct MHD_Response *response =
		f->answers_big
			? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_body, f, on_body_free)
			: MHD_create_response_from_buffer(2, (void *)(uintptr_t)"ok", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);

	MHD_destroy_response(response);
	return result;
}

/* Return the size of the newest header, or 0 if it is not complete. */
static size_t header_bytes(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info ? info->header_size : 0;
}

/* Look at the lines of a header, and at their places, as request_framing_place() does. */
static void on_first(struct fixture *f, struct MHD_Connection *connection, const char *method, const char *version)
{
	f->header_lines = 0;
	f->is_in_place = method + strlen(method) + 1 == f->target && f->target + f->target_bytes + 1 == version;
	f->next = version + strlen(version) + 2;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, f);
	f->is_in_place &= f->next + 2 == method + header_bytes(connection);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *bytes, void **con_cls)
{
	struct fixture *f = context;
	bool first = f->is_first;

	(void)url;
	(void)data;
	(void)con_cls;
	note(f, "request:%zu ", *bytes);
	f->is_first = false;
	if (first) {
		on_first(f, connection, method, version);
		return MHD_YES;
	}
	if (*bytes) {
		*bytes = 0;
		return MHD_YES;
	}
	if (f->suspends) {
		f->suspends = false;
		MHD_suspend_connection(connection);
		return MHD_YES;
	}
	return answer(f, connection);
}

static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n,
			  const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificates,
			  unsigned *n_certificates, gnutls_privkey_t *key)
{
	(void)session;
	(void)names;
	(void)n;
	(void)algorithms;
	(void)n_algorithms;
	(void)certificates;
	(void)n_certificates;
	(void)key;
	return -1;
}

static void on_log(void *context, const char *format, va_list args)
{
	struct fixture *f = context;

	(void)format;
	(void)args;
	f->is_logged |= f->connection && f->is_first && header_bytes(f->connection) > 0;
}

/* Return whether the library is older than 0.9.77, as daemon/serve/http/listener.c does. */
static bool is_lenient(void)
{
	unsigned major = 0, minor = 0, patch = 0;

	return sscanf(MHD_get_version(), "%u.%u.%u", &major, &minor, &patch) == 3 && major == 0 &&
	       (minor < 9 || (minor == 9 && patch < 77));
}

/* Start the daemon as daemon/serve/http/listener.c does. */
static void start(struct fixture *f, gnutls_certificate_credentials_t credentials)
{
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)no_certificate},
				       {MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem strict[] = {{is_lenient() ? MHD_OPTION_END : MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
					  {MHD_OPTION_END, 0, NULL}};

	*f = (struct fixture){.fd = -1, .client = -1, .credentials = credentials};
	f->daemon =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
					 MHD_USE_ERROR_LOG | (credentials ? MHD_USE_TLS : 0),
				 0, NULL, NULL, on_request, f, MHD_OPTION_EXTERNAL_LOGGER, on_log, f,
				 MHD_OPTION_URI_LOG_CALLBACK, on_begin, f, MHD_OPTION_NOTIFY_COMPLETED, on_completed, f,
				 MHD_OPTION_NOTIFY_CONNECTION, on_connection, f, MHD_OPTION_CONNECTION_LIMIT, LIMIT,
				 MHD_OPTION_ARRAY, strict, MHD_OPTION_ARRAY, credentials ? tls : plain, MHD_OPTION_END);
	CHECK(f->daemon);
}

/* Add a connection. Return whether libmicrohttpd took it. */
static bool add(struct fixture *f)
{
	struct sockaddr address = {.sa_family = AF_UNIX};
	struct stat st = {0};
	int pair[2];

	if (!CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0))
		return false;
	fstat(pair[0], &st);
	f->inode = st.st_ino;
	f->fd = pair[0];
	f->client = pair[1];
	return MHD_add_connection(f->daemon, f->fd, &address, sizeof(address.sa_family)) == MHD_YES;
}

static void send_text(const struct fixture *f, const char *text)
{
	CHECK_EQ_INT(send(f->client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void run(struct fixture *f)
{
	for (unsigned turn = 0; turn < TURNS; turn++)
		MHD_run(f->daemon);
}

static void stop(struct fixture *f)
{
	MHD_stop_daemon(f->daemon);
	closep(&f->client);
}

/* ---- connections ------------------------------------------------------------------------------ */

static void announced(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	run(&f);
	CHECK_EQ_STR(f.log, "started ");
	stop(&f);
}

static void announced_before_request(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, GET);
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 completed ");
	stop(&f);
}

static void refused_is_closed(void)
{
	struct fixture f;
	int clients[LIMIT];

	start(&f, NULL);
	for (unsigned i = 0; i < LIMIT; i++) {
		CHECK(add(&f));
		run(&f);
		clients[i] = f.client;
	}
	f.log[0] = '\0';
	CHECK(!add(&f));
	CHECK(!is_same(&f));
	CHECK_EQ_STR(f.log, "");
	stop(&f);
	for (unsigned i = 0; i < LIMIT; i++)
		close(clients[i]);
}

static void shut_down_is_closed(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	run(&f);
	shutdown(f.fd, SHUT_RDWR);
	run(&f);
	CHECK_EQ_STR(f.log, "started closed ");
	CHECK(!is_same(&f));
	stop(&f);
}

static void closed_before_close(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	run(&f);
	closep(&f.client);
	run(&f);
	CHECK_EQ_STR(f.log, "started closed ");
	CHECK(f.is_open_at_close);
	stop(&f);
}

static void stop_closes(void)
{
	struct fixture f;
	char byte;

	start(&f, NULL);
	CHECK(add(&f));
	run(&f);
	send_text(&f, "GET /a HTTP/1.1\r\nHo");
	run(&f);
	MHD_stop_daemon(f.daemon);
	CHECK_EQ_STR(f.log, "started begin/a completed closed ");
	CHECK(!is_same(&f));
	closep(&f.client);
	/* A connection that waits for its announcement is closed, too. */
	start(&f, NULL);
	CHECK(add(&f));
	MHD_stop_daemon(f.daemon);
	CHECK_EQ_INT(recv(f.client, &byte, 1, MSG_DONTWAIT), 0);
	closep(&f.client);
}

/* ---- requests --------------------------------------------------------------------------------- */

static void completed_once(void)
{
	static const char *const parts[] = {"GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nA: ",
					    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *completed;
		struct fixture f;

		start(&f, NULL);
		CHECK(add(&f));
		send_text(&f, parts[i]);
		run(&f);
		CHECK(strstr(f.log, "begin/a "));
		closep(&f.client);
		run(&f);
		completed = strstr(f.log, "completed ");
		CHECK(completed && !strstr(completed + 1, "completed"));
		stop(&f);
	}
}

static void upload_in_calls(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 ");
	send_text(&f, "hello");
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:5 request:0 completed ");
	stop(&f);
}

static void one_after_the_other(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, GET "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 completed begin/b request:0 request:0 completed ");
	stop(&f);
}

static void every_header_line(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, "GET /a HTTP/1.1\r\nHost: x\r\nA: 1\r\nA: 2\r\na: 3\r\n\r\n");
	run(&f);
	CHECK_EQ_UINT(f.header_lines, 4);
	stop(&f);
}

static void response_is_freed(void)
{
	const char *freed;
	struct fixture f;

	start(&f, NULL);
	f.answers_big = true;
	CHECK(add(&f));
	send_text(&f, GET);
	run(&f);
	CHECK(!strstr(f.log, "freed"));
	closep(&f.client);
	run(&f);
	freed = strstr(f.log, "freed ");
	CHECK(freed && !strstr(freed + 1, "freed"));
	stop(&f);
}

/* ---- waiting ---------------------------------------------------------------------------------- */

static void suspended_is_left_alone(void)
{
	struct fixture f;

	start(&f, NULL);
	f.suspends = true;
	CHECK(add(&f));
	send_text(&f, GET);
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 ");
	closep(&f.client);
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 ");
	MHD_resume_connection(f.connection);
	run(&f);
	stop(&f);
}

/* Run as listener_run() does: once, then as long as libmicrohttpd has something to do at once. */
static void run_while_busy(struct fixture *f)
{
	MHD_UNSIGNED_LONG_LONG ms;

	for (unsigned turn = 0; turn < 64; turn++) {
		MHD_run(f->daemon);
		if (MHD_get_timeout(f->daemon, &ms) != MHD_YES || ms)
			break;
	}
}

static void resumed_is_called(void)
{
	struct fixture f;

	start(&f, NULL);
	f.suspends = true;
	CHECK(add(&f));
	send_text(&f, GET);
	run(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 ");
	MHD_resume_connection(f.connection);
	run_while_busy(&f);
	CHECK_EQ_STR(f.log, "started begin/a request:0 request:0 request:0 completed ");
	stop(&f);
}

static bool is_ready(struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p = {.fd = info ? info->epoll_fd : -1, .events = POLLIN};
	MHD_UNSIGNED_LONG_LONG ms;

	return poll(&p, 1, 0) > 0 || (MHD_get_timeout(daemon, &ms) == MHD_YES && ms == 0);
}

/* A body of 4 MiB comes whole if the daemon runs only when it asks for that. */
static void says_when_to_run(void)
{
	static char buffer[65536];
	size_t read = 0, idle = 0;
	int waiting = 0;
	struct fixture f;
	ssize_t n;

	start(&f, NULL);
	f.answers_big = true;
	CHECK(add(&f));
	run_while_busy(&f); /* the server runs it after it has added a connection */
	send_text(&f, GET);
	/* Nothing is read, so no event of the socket says that there is more to send. */
	for (unsigned turn = 0; turn < 1000 && is_ready(f.daemon); turn++)
		MHD_run(f.daemon);
	CHECK(ioctl(f.client, FIONREAD, &waiting) == 0 && waiting > BLOCK_BYTES + 4096);
	while (read < BODY_BYTES && idle < 4) {
		bool runs = is_ready(f.daemon);

		if (runs)
			MHD_run(f.daemon);
		n = recv(f.client, buffer, sizeof(buffer), MSG_DONTWAIT);
		read += n > 0 ? (size_t)n : 0;
		idle = runs || n > 0 ? 0 : idle + 1;
	}
	CHECK(read > BODY_BYTES);
	stop(&f);
}

/* ---- parsing ---------------------------------------------------------------------------------- */

/* By libmicrohttpd, or by request_framing_ok() for its name. */
static void folded_is_refused(void)
{
	char text[64] = "";
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, "GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n Content-Length: 5\r\n\r\n");
	run(&f);
	(void)!recv(f.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	CHECK(f.is_malformed || strncmp(text, "HTTP/1.1 400", 12) == 0);
	stop(&f);
}

/* Send TEXT, a header of BYTES, in pieces to a new daemon. Return whether it is seen whole, every part in its place. */
static bool comes_in_place(const char *text, size_t bytes)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	for (size_t at = 0; at < bytes; at += 1499) {
		size_t n = bytes - at < 1499 ? bytes - at : 1499;

		CHECK_EQ_INT(send(f.client, text + at, n, MSG_NOSIGNAL), n);
		run(&f);
	}
	stop(&f);
	return strstr(f.log, "request:0 ") && f.is_in_place;
}

/* A strict library refuses what the places would tell. */
static void header_stays_in_place(void)
{
	static const char first[] = "GET /a?b=%20c HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=d\r\n";
	char text[8000];
	size_t n = sizeof(first) - 1;

	memcpy(text, first, n);
	for (unsigned i = 0; n < sizeof(text) - 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "Line-%u: %0*u\r\n", i, (int)(i % 100 + 1), i);
	memcpy(text + n, "\r\n", 2);
	CHECK(comes_in_place(text, n + 2) || !is_lenient());
	for (unsigned i = 0; i < 3; i++) {
		static const char *const ends[] = {"Y: b\r\n\n", "Y: b\n\r\n", "Y: b\1c\r\n\r\n"};
		size_t end = strlen(strcpy(text + sizeof(first) - 1, ends[i]));
		char *nul = memchr(text, 1, sizeof(first) - 1 + end);

		if (nul)
			*nul = '\0';
		CHECK(!comes_in_place(text, sizeof(first) - 1 + end));
	}
}

static void wrong_length_is_logged(void)
{
	struct fixture f;

	start(&f, NULL);
	CHECK(add(&f));
	send_text(&f, GET);
	run(&f);
	CHECK(!f.is_logged);
	send_text(&f, "GET /b HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n");
	run(&f);
	CHECK(f.is_logged);
	CHECK(!strstr(strstr(f.log, "begin/b"), "request:"));
	stop(&f);
}

/* ---- TLS -------------------------------------------------------------------------------------- */

/* Make credentials with a new key and a certificate that the key signs. */
static gnutls_certificate_credentials_t credentials_make(void)
{
	gnutls_certificate_credentials_t credentials;
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;
	const uint8_t serial = 1;

	gnutls_x509_privkey_init(&key);
	gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	gnutls_x509_crt_init(&certificate);
	gnutls_x509_crt_set_version(certificate, 3);
	gnutls_x509_crt_set_serial(certificate, &serial, sizeof(serial));
	gnutls_x509_crt_set_activation_time(certificate, time(NULL) - 60);
	gnutls_x509_crt_set_expiration_time(certificate, time(NULL) + 3600);
	gnutls_x509_crt_set_dn(certificate, "CN=localhost", NULL);
	gnutls_x509_crt_set_key(certificate, key);
	gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
	gnutls_certificate_allocate_credentials(&credentials);
	CHECK(gnutls_certificate_set_x509_key(credentials, &certificate, 1, key) >= 0);
	gnutls_x509_crt_deinit(certificate);
	gnutls_x509_privkey_deinit(key);
	return credentials;
}

/* Shake hands between the daemon of F and a client, then ask for /a. */
static void tls_talk(struct fixture *f)
{
	gnutls_certificate_credentials_t trusting;
	gnutls_session_t session;
	char text[64] = "";
	int rc = GNUTLS_E_AGAIN;
	ssize_t n = GNUTLS_E_AGAIN;

	gnutls_certificate_allocate_credentials(&trusting);
	gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, trusting);
	gnutls_transport_set_int(session, f->client);
	for (unsigned turn = 0; turn < 64 && rc == GNUTLS_E_AGAIN; turn++) {
		rc = gnutls_handshake(session);
		MHD_run(f->daemon);
	}
	CHECK_EQ_INT(rc, 0);
	if (rc == 0)
		gnutls_record_send(session, GET, sizeof(GET) - 1);
	for (unsigned turn = 0; turn < 64 && rc == 0 && n == GNUTLS_E_AGAIN; turn++) {
		MHD_run(f->daemon);
		n = gnutls_record_recv(session, text, sizeof(text) - 1);
	}
	CHECK(strncmp(text, "HTTP/1.1 200", 12) == 0);
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(trusting);
}

static void tls_session_before_handshake(void)
{
	gnutls_certificate_credentials_t credentials = credentials_make();
	struct fixture f;

	start(&f, credentials);
	CHECK(add(&f));
	run(&f);
	CHECK(f.has_session);
	tls_talk(&f);
	stop(&f);
	gnutls_certificate_free_credentials(credentials);
}

static void tls_suspended_between_runs(void)
{
	gnutls_certificate_credentials_t credentials = credentials_make();
	struct fixture f;

	start(&f, credentials);
	CHECK(add(&f));
	run(&f);
	MHD_suspend_connection(f.connection);
	run(&f);
	CHECK_EQ_STR(f.log, "started ");
	MHD_resume_connection(f.connection);
	tls_talk(&f);
	stop(&f);
	gnutls_certificate_free_credentials(credentials);
}

int main(int argc, char **argv)
{
	static const struct assumption all[] = {
		{"mhd-announced", announced},
		{"mhd-announced-before-request", announced_before_request},
		{"mhd-refused-is-closed", refused_is_closed},
		{"mhd-shut-down-is-closed", shut_down_is_closed},
		{"mhd-closed-before-close", closed_before_close},
		{"mhd-stop-closes", stop_closes},
		{"mhd-completed-once", completed_once},
		{"mhd-upload-in-calls", upload_in_calls},
		{"mhd-one-after-the-other", one_after_the_other},
		{"mhd-every-header-line", every_header_line},
		{"mhd-response-is-freed", response_is_freed},
		{"mhd-suspended-is-left-alone", suspended_is_left_alone},
		{"mhd-resumed-is-called", resumed_is_called},
		{"mhd-says-when-to-run", says_when_to_run},
		{"mhd-folded-is-refused", folded_is_refused},
		{"mhd-header-stays-in-place", header_stays_in_place},
		{"mhd-wrong-length-is-logged", wrong_length_is_logged},
		{"mhd-tls-session-before-handshake", tls_session_before_handshake},
		{"mhd-tls-suspended-between-runs", tls_suspended_between_runs},
	};

	return assumptions_run(all, sizeof(all) / sizeof(*all), argc, argv);
}
