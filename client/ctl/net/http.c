/*
 * This file implements the HTTP client with libcurl.
 *
 * The client uses libcurl's multi interface for a single transfer, because that interface can also
 * wait for a signalfd. So SIGINT ends a download cleanly, without a signal handler and a global
 * flag. The client follows no redirects and uses no protocol but HTTP, so an answer cannot direct
 * the client, and its token, to another server.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "array.h"
#include "certificate.h"
#include "cleanup.h"
#include "http-limits.h"
#include "http.h"

#define VALUE_MAX 8192u
/*
 * libcurl takes header lines of at most 100 KiB. Before 8.6 it calls a longer one CURLE_OUT_OF_MEMORY, later CURLE_TOO_LARGE,
 * which older headers of libcurl lack.
 */
#define LINE_KIB      100u
#define LINE_TOO_LONG 100
#define HEADERS_MAX   (512u << 10) /* bytes of an answer's headers and trailers; libcurl limits the former alone */
#define PROBLEM_MAX   (64u << 10)
#define JSON_MAX      (64u << 20)
#define POLL_MS	      500
#define RECEIVE_BYTES (256L << 10) /* most bytes that libcurl receives at once */

struct exchange {
	CURL *easy;
	const struct http_request *request;
	struct http_answer *answer;
	struct rate rate;
	uint64_t unpacked; /* bytes of the body so far, unpacked */
	uint64_t headers;  /* bytes of headers and trailers so far */
	uint64_t calls;	   /* how often libcurl passed something on */
	bool refused;	   /* body() returned false */
	bool memory;
	bool slow;
	bool ratio; /* the body unpacks to more than the limits allow */
};

static void slistp(struct curl_slist **list)
{
	curl_slist_free_all(*list);
	*list = NULL;
}

int http_open(struct http *h, const struct hosts *hosts)
{
	int r;

	*h = (struct http)HTTP_CLOSED;
	r = limits_read(&h->limits);
	r = r ? r : host_resolve(&h->at, hosts);
	if (r)
		return r;
	h->host = h->at.label;
	h->easy = curl_easy_init();
	h->multi = curl_multi_init();
	return h->easy && h->multi ? CTL_OK : say_memory();
}

void http_close(struct http *h)
{
	curl_easy_cleanup(h->easy);
	curl_multi_cleanup(h->multi);
	ssh_close(&h->ssh);
	closep(&h->signals);
	host_deinit(&h->at);
	*h = (struct http)HTTP_CLOSED;
}

bool http_catch_signals(struct http *h)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return h->signals >= 0;
}

bool http_sleep(struct http *h, int ms)
{
	struct pollfd fd = {.fd = h->signals, .events = POLLIN};

	return poll(&fd, 1, ms) <= 0;
}

char *http_escape(struct http *h, const char *segment)
{
	return curl_easy_escape(h->easy, segment, 0);
}

void http_answer_deinit(struct http_answer *a)
{
	char *values[] = {a->etag,     a->content_location, a->content_range, a->content_encoding,
			  a->location, a->position,	    a->run_state,     a->cut,
			  a->lost,     a->complete,	    a->retry_after,   a->date,
			  a->problem};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		free(values[i]);
	*a = (struct http_answer){0};
}

/* If LINE is the header NAME, store a copy of its value in *SLOT. Return false without memory. */
static bool keep_header(const char *line, size_t n, const char *name, char **slot)
{
	size_t at = strlen(name);

	if (n <= at || strncasecmp(line, name, at) != 0 || line[at] != ':' || n > VALUE_MAX)
		return true;
	for (at++; at < n && (line[at] == ' ' || line[at] == '\t'); at++)
		;
	while (n > at && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' '))
		n--;
	free(*slot);
	*slot = strndup(line + at, n - at);
	return *slot != NULL;
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct exchange *x = context;
	struct http_answer *a = x->answer;
	const struct {
		const char *name;
		char **slot;
	} kept[] = {
		{"ETag", &a->etag},
		{"Content-Location", &a->content_location},
		{"Content-Range", &a->content_range},
		{"Content-Encoding", &a->content_encoding},
		{"Location", &a->location},
		{"Mprof-Position", &a->position},
		{"Mprof-Run-State", &a->run_state},
		{"Mprof-Cut", &a->cut},
		{"Mprof-Lost-Packets", &a->lost},
		{"Mprof-Complete", &a->complete},
		{"Retry-After", &a->retry_after},
		{"Date", &a->date},
	};
	size_t n = size * count;

	x->calls++;
	x->headers += n;
	if (x->headers > HEADERS_MAX)
		return 0;
	rate_add(&x->rate, n);
	x->rate.in_body = n <= 2;
	if (n > 5 && strncmp(line, "HTTP/", 5) == 0)
		http_answer_deinit(a);
	/* Without the copy of a header the answer would say less, for example not that packets are lost. */
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		x->memory |= !keep_header(line, n, kept[i].name, kept[i].slot);
	if (x->memory)
		return 0;
	return n;
}

/*
 * Append bytes of a problem document to the answer's field PROBLEM, up to PROBLEM_MAX bytes in all.
 */
static size_t keep_problem(struct exchange *x, const char *bytes, size_t n)
{
	struct http_answer *a = x->answer;
	size_t take = n < PROBLEM_MAX - a->problem_bytes ? n : PROBLEM_MAX - a->problem_bytes;
	char *grown = realloc(a->problem, a->problem_bytes + take + 1);

	if (!grown) {
		x->memory = true;
		return 0;
	}
	a->problem = grown;
	memcpy(grown + a->problem_bytes, bytes, take);
	a->problem_bytes += take;
	grown[a->problem_bytes] = 0;
	return n;
}

/*
 * Count N unpacked bytes of a body that may be compressed. Return false if the body unpacks to more
 * than the limits of http.h allow.
 */
static bool count_unpacked(struct exchange *x, size_t n)
{
	curl_off_t came = 0;

	x->unpacked += n;
	if (!x->request->zstd || x->unpacked <= HTTP_UNPACKED_FREE)
		return true;
	curl_easy_getinfo(x->easy, CURLINFO_SIZE_DOWNLOAD_T, &came);
	x->ratio = x->unpacked / HTTP_RATIO_MAX > (uint64_t)came;
	return !x->ratio;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *x = context;
	size_t n = size * count;

	x->calls++;
	rate_add(&x->rate, n);
	x->rate.in_body = true;
	if (!count_unpacked(x, n))
		return 0;
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->answer->status);
	if (x->answer->status / 100 != 2)
		return keep_problem(x, bytes, n);
	if (!n || !x->request->body || x->request->body(x->request->context, x->answer, (const uint8_t *)bytes, n))
		return n;
	x->refused = true;
	return 0;
}

static bool add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer != NULL;
}

/* Set the headers of the request. Return false without memory. */
static bool set_headers(struct http *h, const struct http_request *request, struct curl_slist **list)
{
	CLEANUP(freep) char *if_range = NULL;
	char range[32];

	if (request->if_range) {
		if (asprintf(&if_range, "If-Range: %s", request->if_range) < 0) {
			if_range = NULL;
			return false;
		}
		snprintf(range, sizeof(range), "%llu-", (unsigned long long)request->resume_at);
		if (!add_header(list, if_range) || curl_easy_setopt(h->easy, CURLOPT_RANGE, range) != CURLE_OK)
			return false;
	}
	if (request->json && (!add_header(list, "Content-Type: application/json") ||
			      curl_easy_setopt(h->easy, CURLOPT_COPYPOSTFIELDS, request->json) != CURLE_OK))
		return false;
	if (!add_header(list, "Accept: */*"))
		return false;
	return curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, *list) == CURLE_OK;
}

static curl_socket_t open_ssh(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http *h = context;
	int fd = ssh_expect(&h->ssh);

	(void)purpose;
	(void)address;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/*
 * Set the way to the host: a Unix socket, ssh, or TCP with or without TLS. Return false if that is
 * impossible.
 */
static bool set_way(struct http *h)
{
	const struct host *x = &h->at;

	/* A proxy is for other machines, and would read a token of plain HTTP. */
	if (x->kind == HOST_UNIX || x->kind == HOST_SSH || x->loopback)
		curl_easy_setopt(h->easy, CURLOPT_PROXY, "");
	if (x->kind == HOST_UNIX)
		curl_easy_setopt(h->easy, CURLOPT_UNIX_SOCKET_PATH, x->socket);
	if (x->kind != HOST_SSH)
		return true;
	curl_easy_setopt(h->easy, CURLOPT_OPENSOCKETFUNCTION, open_ssh);
	curl_easy_setopt(h->easy, CURLOPT_OPENSOCKETDATA, h);
	return ssh_choose_path(&h->ssh) && curl_easy_setopt(h->easy, CURLOPT_UNIX_SOCKET_PATH, h->ssh.path) == CURLE_OK;
}

/* Set certificates and the token. Return false if that is impossible. */
static bool set_identity(struct http *h)
{
	const struct host *x = &h->at;
	CURLcode r = CURLE_OK;

	if (x->kind == HOST_HTTPS)
		r = curl_easy_setopt(h->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!r && x->ca) {
		/* Only the given CA counts, and not the system's. */
		r = curl_easy_setopt(h->easy, CURLOPT_CAINFO, x->ca);
		curl_easy_setopt(h->easy, CURLOPT_CAPATH, (char *)NULL);
	}
	if (!r && x->cert)
		r = curl_easy_setopt(h->easy, CURLOPT_SSLCERT, x->cert);
	if (!r && x->key)
		r = curl_easy_setopt(h->easy, CURLOPT_SSLKEY, x->key);
	if (!r && x->token) {
		r = curl_easy_setopt(h->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		r = r ? r : curl_easy_setopt(h->easy, CURLOPT_XOAUTH2_BEARER, x->token);
	}
	return r == CURLE_OK;
}

static bool set_target(struct http *h, const struct http_request *request)
{
	CLEANUP(freep) char *url = NULL;

	if (asprintf(&url, "%s%s", h->at.base, request->path) < 0) {
		url = NULL;
		return false;
	}
	curl_easy_setopt(h->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h->easy, CURLOPT_USERAGENT, "mprofctl");
	curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(h->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
	if (request->zstd)
		curl_easy_setopt(h->easy, CURLOPT_ACCEPT_ENCODING, "zstd");
	if (request->method)
		curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, request->method);
	return set_way(h) && set_identity(h) && curl_easy_setopt(h->easy, CURLOPT_URL, url) == CURLE_OK;
}

static void set_callbacks(struct http *h, struct exchange *x)
{
	h->error[0] = 0;
	curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->error);
	curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, x);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Count the time since BEFORE, in milliseconds of now_ms(), as waiting for the server. Count at
 * most 2 * POLL_MS, because a longer wait means that the program or the machine was stopped. Return
 * false if the server is silent for too long or too slow. If it is silent, h->error has the
 * message; if it is slow, x->slow is set.
 */
static bool fast_enough(struct http *h, struct exchange *x, uint64_t before)
{
	uint64_t waited = now_ms() - before;
	enum rate_verdict verdict = rate_wait(&x->rate, waited < 2 * POLL_MS ? waited : 2 * POLL_MS);

	if (verdict == RATE_SILENT)
		snprintf(h->error, sizeof(h->error), "nothing came for %llu s", (unsigned long long)h->limits.seconds);
	x->slow = verdict == RATE_SLOW;
	return verdict == RATE_OK;
}

/*
 * Run the transfer until it ends. Return CURLE_ABORTED_BY_CALLBACK after a signal,
 * CURLE_OPERATION_TIMEDOUT if the server is too slow, or else the result of the transfer.
 */
static CURLcode drive(struct http *h, struct exchange *x)
{
	struct curl_waitfd wait = {.fd = h->signals, .events = CURL_WAIT_POLLIN};
	int running = 1, left;
	CURLMsg *message;
	uint64_t before, calls;

	while (running) {
		wait.revents = 0;
		before = now_ms();
		calls = x->calls;
		if (curl_multi_perform(h->multi, &running) != CURLM_OK)
			return CURLE_OUT_OF_MEMORY;
		ssh_accept(&h->ssh, &h->at);
		/* The time in which libcurl received something and passed on nothing, such as extensions of chunks, is waiting, too. */
		if (x->calls != calls)
			before = now_ms();
		if (running && curl_multi_poll(h->multi, &wait, h->signals >= 0, POLL_MS, NULL) != CURLM_OK)
			return CURLE_OUT_OF_MEMORY;
		if (wait.revents)
			return CURLE_ABORTED_BY_CALLBACK;
		if (running && !fast_enough(h, x, before))
			return CURLE_OPERATION_TIMEDOUT;
	}
	message = curl_multi_info_read(h->multi, &left);
	return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
}

static int condition_of(CURLcode code, const struct exchange *x)
{
	switch ((int)code) {
	case CURLE_OK:
		return 0;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_URL_MALFORMAT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION:
		return HTTP_E_UNREACHABLE;
	case CURLE_ABORTED_BY_CALLBACK:
		return HTTP_E_STOPPED;
	case CURLE_OUT_OF_MEMORY:
	case LINE_TOO_LONG:
		return x->memory ? HTTP_E_MEMORY : HTTP_E_LINE;
	default:
		return x->refused  ? HTTP_E_REFUSED
		       : x->memory ? HTTP_E_MEMORY
		       : x->ratio  ? HTTP_E_RATIO
		       : x->slow   ? HTTP_E_SLOW
				   : HTTP_E_BROKEN;
	}
}

int http_perform(struct http *h, const struct http_request *request, struct http_answer *answer)
{
	CLEANUP(slistp) struct curl_slist *headers = NULL;
	struct exchange x = {.easy = h->easy,
			     .request = request,
			     .answer = answer,
			     .rate = {.limits = &h->limits, .unending = request->unending}};
	CURLcode code;
	int r;

	*answer = (struct http_answer){0};
	curl_easy_reset(h->easy);
	set_callbacks(h, &x);
	if (!set_target(h, request) || !set_headers(h, request, &headers))
		return HTTP_E_MEMORY;
	if (curl_multi_add_handle(h->multi, h->easy) != CURLM_OK)
		return HTTP_E_MEMORY;
	code = drive(h, &x);
	h->code = code;
	if (x.headers > HEADERS_MAX)
		snprintf(h->error, sizeof(h->error), "its headers have more than %u bytes", HEADERS_MAX);
	curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_easy_getinfo(h->easy, CURLINFO_SSL_VERIFYRESULT, &h->verify);
	curl_multi_remove_handle(h->multi, h->easy);
	r = condition_of(code, &x);
	/* The answer of a daemon begins with a header. Without one, ssh itself has failed. */
	return r == HTTP_E_BROKEN && h->at.kind == HOST_SSH && !x.rate.began ? HTTP_E_UNREACHABLE : r;
}

bool http_is(long status, long expected)
{
	return status == expected || (expected == HTTP_ABSENT && (status == 404 || status == 410));
}

/* Write "; streams: 0, 1" to BUF if a problem lists streams. */
static void list_streams(const json_t *problem, char *buf, size_t size)
{
	const json_t *stream;
	size_t i, at = 0;

	buf[0] = 0;
	json_array_foreach(json_object_get(problem, "streams"), i, stream)
	{
		json_int_t number = json_integer_value(json_object_get(stream, "stream"));

		if (at + 32 > size)
			break;
		at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "; streams: ", (long long)number);
	}
}

/* Report what to do about the status of an answer, if mprofctl knows that. */
static void say_advice(const struct http *h, const struct http_answer *a)
{
	bool known = h->at.token || h->at.cert;

	switch (a->status) {
	case 401:
		if (h->at.token)
			say("%s does not accept the token: it may be of another host, expired or revoked; `mprofctl "
			    "token "
			    "list` shows the valid ones on that host",
			    h->host);
		else if (h->at.cert)
			say("%s does not accept the certificate %s: its CA, its dates or its name are not those of a "
			    "[grant certificate:NAME] there",
			    h->host, h->at.cert);
		else
			say("%s wants to know who asks: give a token with --token FILE, or a certificate with --cert "
			    "FILE "
			    "and --key FILE",
			    h->host);
		break;
	case 403:
		say("%s may refuse this to you for lack of a scope: ask its administrator for one in a [grant] or a "
		    "token",
		    h->host);
		break;
	case 404:
		if (known)
			say("a guest that your scopes on %s do not cover does not exist for you", h->host);
		break;
	case 421:
		say("%s does not serve the name in %s: use a name of its certificate, or add `names =` with that name "
		    "to "
		    "[access] in its mprofd.conf",
		    h->host, h->at.base);
		break;
	case 429:
		say("%s has had too many requests or wrong tokens from here: try again%s%s%s", h->host,
		    a->retry_after ? " in " : " later", a->retry_after ? a->retry_after : "",
		    a->retry_after ? " s" : "");
		break;
	default:
		if (a->status / 100 == 3)
			say("%s redirects to %s, and mprofctl follows no redirect: if you trust that address, give it "
			    "with "
			    "--host",
			    h->host, a->location ? a->location : "another address");
		break;
	}
}

static void say_problem(const struct http *h, const struct http_answer *answer)
{
	CLEANUP(json_decrefp) json_t *problem = NULL;
	const char *sentence = NULL, *colon = h->at.several ? ": " : "";
	char streams[256];

	if (answer->problem)
		problem = json_loadb(answer->problem, answer->problem_bytes, 0, NULL);
	sentence = json_string_value(json_object_get(problem, "detail"));
	if (!sentence || !*sentence)
		sentence = json_string_value(json_object_get(problem, "title"));
	list_streams(problem, streams, sizeof(streams));
	if (sentence && *sentence)
		say("%s%s%s%s", h->at.several ? h->host : "", colon, sentence, streams);
	else if (answer->status / 100 != 3)
		say("%s answered with HTTP status %ld and no explanation", h->host, answer->status);
	say_advice(h, answer);
}

/* Report that no connection was made. Return an exit code. */
static int say_unreachable(struct http *h, const char *why)
{
	if (h->at.kind == HOST_SSH)
		return ssh_complain(&h->ssh, &h->at);
	if (!certificate_complain(&h->at, h->code, h->verify, why))
		say("cannot reach the daemon at %s: %s; is mprofd-http running? --host selects another address",
		    h->host, why);
	return CTL_UNREACHABLE;
}

int http_complain(struct http *h, int condition, const struct http_answer *answer)
{
	const char *why = h->error[0] ? h->error : "no answer";

	switch (condition) {
	case 0:
		say_problem(h, answer);
		return answer->status == 404 || answer->status == 410 ? CTL_NOT_FOUND : CTL_FAILED;
	case HTTP_E_UNREACHABLE:
		return say_unreachable(h, why);
	case HTTP_E_BROKEN:
		if (!certificate_complain(&h->at, h->code, h->verify, why))
			say("the connection to %s broke: %s", h->host, why);
		return CTL_UNREACHABLE;
	case HTTP_E_SLOW:
		say("%s is too slow: less than %llu bytes a second came for %llu s; MPROFCTL_MIN_RATE=0 waits for ever",
		    h->host, (unsigned long long)h->limits.rate, (unsigned long long)h->limits.seconds);
		return CTL_UNREACHABLE;
	case HTTP_E_RATIO:
		say("the compressed answer of %s unpacks to more than %u times its size", h->host, HTTP_RATIO_MAX);
		return CTL_FAILED;
	case HTTP_E_STOPPED:
		say("stopped");
		return CTL_FAILED;
	case HTTP_E_MEMORY:
		return say_memory();
	case HTTP_E_LINE:
		say("a line of the headers of %s is longer than %u KiB, or memory is lacking", h->host, LINE_KIB);
		return CTL_FAILED;
	default:
		return CTL_FAILED;
	}
}

struct text {
	char *bytes;
	size_t used;
	size_t room;
};

static bool take_text(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len)
{
	struct text *t = context;

	(void)answer;
	if (len > JSON_MAX - t->used)
		return false;
	if (t->room - t->used < len) {
		size_t room = (t->used + len) * 2;
		char *grown = realloc(t->bytes, room);

		if (!grown)
			return false;
		t->bytes = grown;
		t->room = room;
	}
	memcpy(t->bytes + t->used, bytes, len);
	t->used += len;
	return true;
}

/*
 * Perform the request ASKED and parse the answer into *JSON, which the caller decrefs. An answer
 * with the status ALLOWED (see http_is()) is no error and does not set *JSON. If BYTES is not NULL,
 * add the size of the answer to *BYTES. Return an exit code.
 */
static int json_request(struct http *h, const struct http_request *asked, long allowed, json_t **json, uint64_t *bytes)
{
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	struct http_request request = *asked;
	struct text text = {0};
	CLEANUP(freep) char *owned = NULL;
	const char *path = request.path;
	json_error_t error;
	int r;

	request.body = take_text;
	request.context = &text;
	r = http_perform(h, &request, &answer);
	owned = text.bytes;
	if (r == HTTP_E_REFUSED) {
		say("the answer of %s to %s is too large", h->host, path);
		return CTL_FAILED;
	}
	if (r == 0 && allowed && http_is(answer.status, allowed))
		return CTL_OK;
	if (r || answer.status / 100 != 2)
		return http_complain(h, r, &answer);
	*json = json_loadb(text.used ? text.bytes : "", text.used, JSON_REJECT_DUPLICATES, &error);
	if (bytes)
		*bytes += text.used;
	if (*json)
		return CTL_OK;
	say("the answer of %s to %s is not JSON: %s", h->host, path, error.text);
	return CTL_FAILED;
}

int http_json(struct http *h, const char *method, const char *path, const char *body, json_t **json)
{
	struct http_request request = {.method = method, .path = path, .json = body};

	return json_request(h, &request, 0, json, NULL);
}

int http_do(struct http *h, const char *method, const char *path)
{
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	struct http_request request = {.method = method, .path = path};
	int r = http_perform(h, &request, &answer);

	return r || answer.status / 100 != 2 ? http_complain(h, r, &answer) : CTL_OK;
}

int http_json_unless(struct http *h, const char *path, long status, json_t **json)
{
	struct http_request request = {.path = path};

	*json = NULL;
	return json_request(h, &request, status, json, NULL);
}

/*
 * Request the page with the cursor of P, append its entries to ARRAY, and set the cursor of P to
 * the next page. Return an exit code.
 */
static int list_page(struct http *h, const char *path, struct pages *p, json_t *array)
{
	CLEANUP(json_decrefp) json_t *page = NULL;
	CLEANUP(freep) char *url = NULL;
	char *escaped = p->cursor ? http_escape(h, p->cursor) : NULL;
	struct http_request request = {0};
	int r;

	r = asprintf(&url, "%s?limit=1000%s%s", path, escaped ? "&cursor=" : "", escaped ? escaped : "");
	curl_free(escaped);
	if (r < 0) {
		url = NULL;
		return say_memory();
	}
	request.path = url;
	r = json_request(h, &request, 0, &page, &p->bytes);
	if (r)
		return r;
	if (!json_is_array(json_object_get(page, p->what))) {
		say("the answer of %s to %s has no list of %s", h->host, path, p->what);
		return CTL_FAILED;
	}
	if (p->bytes > PAGES_BYTES_MAX) {
		say("the list of %s of %s is too large: more than %u MiB", p->what, h->host, PAGES_BYTES_MAX >> 20);
		return CTL_FAILED;
	}
	return json_array_extend(array, json_object_get(page, p->what)) < 0 ? say_memory() : pages_turn(p, h, page);
}

int http_list(struct http *h, const char *path, const char *key, json_t **json)
{
	CLEANUP(json_decrefp) json_t *list = json_object();
	CLEANUP(pages_deinit) struct pages p = {.what = key};
	json_t *array = json_array();
	int r;

	if (!list || json_object_set_new(list, key, array) < 0)
		return say_memory();
	do
		r = list_page(h, path, &p, array);
	while (!r && p.cursor);
	if (r == CTL_OK)
		*json = json_incref(list);
	return r;
}
