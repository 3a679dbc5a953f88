/*
 * This file downloads the body of an HTTP answer, and resumes the download after a broken
 * connection.
 *
 * If a selection of the trace still grows, the server's answer has the header Content-Location with
 * a path that names a fixed selection: the bytes of this answer. All further requests use this
 * path. The server deletes the oldest packets of a guest that reaches its quota, and then answers a
 * request for a fixed selection with status 410. The download then starts over with the original
 * path.
 *
 * A request that resumes has the headers Range and If-Range, with the strong entity tag of the
 * uncompressed body. So the client never joins bytes of two different bodies. A compressed body has
 * another entity tag and cannot be resumed. If the connection breaks during a compressed body, or
 * the body unpacks to more than any trace would, the download starts over and requests an
 * uncompressed body. So the client requests compression only if the caller can drop the bytes so
 * far. The client never requests compression on a Unix socket, where it would save no time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "download.h"
#include "table.h"

#define TRIES_MAX 6 /* attempts without progress before the download fails */
/*
 * Bytes that must come before the count of attempts begins again. Without this minimum a server
 * could keep the client waiting for ever by sending one byte for each attempt.
 */
#define PROGRESS_MIN (64u << 10)
#define ANEW_MAX     6 /* most restarts because the server deleted a part of the fixed selection */
struct attempt {
	struct download *d;
	char *etag;	/* entity tag of the uncompressed body so far, or NULL; owned */
	char *location; /* path of the fixed selection, or NULL; owned */
	uint64_t offset;
	uint64_t total; /* size of the body in bytes; 0 = unknown */
	uint64_t came;	/* bytes that came since TRIES was set to 0 */
	int tries, anew;
	bool began;	 /* the body of this attempt has begun */
	bool compressed; /* the part of the body that came was compressed */
	bool plain;	 /* do not accept compression any more */
	bool asked_zstd; /* this attempt accepts zstd */
	bool encoded;	 /* the body is encoded although mprofctl did not ask for that */
	bool mismatch;	 /* the server sent another range than requested */
};

static void attempt_deinit(struct attempt *a)
{
	free(a->etag);
	free(a->location);
}

/*
 * Return true if LOCATION is a path on the same server. Other values are ignored, so an answer
 * cannot direct the client to another server.
 */
static bool own_path(const char *location)
{
	return location && location[0] == '/' && location[1] != '/';
}

/* Store the headers of ANSWER that further requests and the caller need. Return true. */
static bool keep_identity(struct attempt *a, const struct http_answer *answer)
{
	free(a->etag);
	a->etag = NULL;
	a->compressed = answer->content_encoding && strcasecmp(answer->content_encoding, "identity") != 0;
	if (answer->etag && answer->etag[0] == '"' && !a->compressed)
		a->etag = strdup(answer->etag);
	if (own_path(answer->content_location)) {
		free(a->location);
		a->location = strdup(answer->content_location);
	}
	if (!a->d->date && answer->date)
		a->d->date = strdup(answer->date);
	if (!a->d->location && a->location)
		a->d->location = strdup(a->location);
	if (!a->d->cut && answer->cut)
		a->d->cut = strdup(answer->cut);
	if (!a->d->lost && answer->lost)
		a->d->lost = strdup(answer->lost);
	if (!a->d->complete && answer->complete)
		a->d->complete = strdup(answer->complete);
	return true;
}

/*
 * Tell the caller of the download to drop all bytes so far, and begin again at byte 0. Return false
 * if the caller cannot drop the bytes.
 */
static bool start_over(struct attempt *a)
{
	if (!a->offset)
		return true;
	if (!a->d->start_over) {
		a->mismatch = true;
		return false;
	}
	a->offset = a->total = 0;
	download_deinit(a->d); /* drop the headers of the dropped body too */
	a->d->refused = a->d->start_over(a->d->context);
	return !a->d->refused;
}

/* Return true if RANGE, "bytes FROM-TO/TOTAL", begins at A's offset. */
static bool continues(struct attempt *a, const char *range)
{
	uint64_t from, to, total = 0;

	if (!a->offset || !range || sscanf(range, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &from, &to, &total) < 2)
		return false;
	if (from != a->offset || to < from || (total && to >= total))
		return false;
	a->total = total;
	return true;
}

/*
 * Check the headers of ANSWER when the first byte of its body comes. Return false if this body
 * cannot continue the download.
 */
static bool begin_body(struct attempt *a, const struct http_answer *answer)
{
	const char *encoding = answer->content_encoding;

	a->began = true;
	a->encoded = encoding && strcasecmp(encoding, "identity") != 0 && !a->asked_zstd;
	if (a->encoded)
		return false;
	if (answer->status != 206)
		return start_over(a) && keep_identity(a, answer);
	a->mismatch = !continues(a, answer->content_range);
	return !a->mismatch;
}

static bool take_body(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len)
{
	struct attempt *a = context;

	if (!a->began && !begin_body(a, answer))
		return false;
	a->d->refused = a->d->write(a->d->context, bytes, len);
	if (a->d->refused)
		return false;
	a->offset += len;
	a->came += len;
	if (a->came >= PROGRESS_MIN) {
		a->came = 0;
		a->tries = 0;
	}
	return true;
}

/*
 * Return true if the server answers that no byte is left after A's offset: the status is 416 and
 * the body's size is the offset. This happens if the connection broke after the last byte.
 */
static bool nothing_left(const struct attempt *a, const struct http_answer *answer)
{
	uint64_t total;

	return answer->status == 416 && a->offset && answer->content_range &&
	       sscanf(answer->content_range, "bytes */%" SCNu64, &total) == 1 && total == a->offset;
}

/*
 * Wait before the next attempt: 250 ms, twice as long for each further attempt. If the answer has a
 * Retry-After header, wait that many seconds instead, at most 5 s. Return false if a signal ended
 * the wait.
 */
static bool wait_turn(struct http *h, const struct attempt *a, const struct http_answer *answer)
{
	int ms = 250 << (a->tries - 1);

	if (answer->retry_after && sscanf(answer->retry_after, "%d", &ms) == 1)
		ms = ms < 1 ? 250 : ms > 5 ? 5000 : ms * 1000;
	return http_sleep(h, ms);
}

/*
 * Start over with the original path, because the server deleted a part of the fixed selection.
 * Return false if that is impossible.
 */
static bool ask_anew(struct attempt *a)
{
	if (!a->location || ++a->anew > ANEW_MAX || !start_over(a))
		return false;
	free(a->location);
	free(a->etag);
	a->location = a->etag = NULL;
	a->came = 0;
	a->tries = 0; /* ANEW_MAX limits the restarts */
	return true;
}

/* Return true if a failed request may be tried again. */
static bool worth_trying(const struct attempt *a, int condition, const struct http_answer *answer)
{
	if (condition == HTTP_E_UNREACHABLE)
		return a->offset != 0;
	return condition == HTTP_E_BROKEN || condition == HTTP_E_SLOW || (condition == 0 && answer->status == 503);
}

/*
 * Return true if another attempt can continue the download or start over. Without an entity tag the
 * download must start over; the next request then accepts no compressed body.
 */
static bool can_continue(struct attempt *a)
{
	if (!a->offset || a->etag)
		return true;
	if (!a->d->start_over)
		return false;
	a->plain = true;
	return true;
}

static int give_up(struct attempt *a, struct http *h, int condition, const struct http_answer *answer)
{
	if (a->d->refused)
		return CTL_FAILED;
	if (a->mismatch) {
		say("the trace changed while it was fetched, and cannot be continued at byte %" PRIu64
		    "; fetch it again",
		    a->offset);
		return CTL_FAILED;
	}
	if (a->encoded) {
		say("%s sent the trace encoded as %s, which was not asked for", h->host, answer->content_encoding);
		return CTL_FAILED;
	}
	return http_complain(h, condition, answer);
}

/*
 * Start over with an uncompressed body, because the compressed body unpacks to too many bytes.
 * Return false if that is impossible.
 */
static bool ask_plain(struct attempt *a, const struct http *h)
{
	if (!start_over(a))
		return false;
	a->plain = true;
	say("note: the compressed answer of %s unpacks to more than %u times its size; it is fetched uncompressed",
	    h->host, HTTP_RATIO_MAX);
	return true;
}

/* Return true if the body that ended is complete. */
static bool whole(struct attempt *a, const struct http_answer *answer)
{
	/* An empty body is complete too, unless it answers a range. */
	if (!a->began && answer->status / 100 == 2 && !begin_body(a, answer))
		return false;
	if (answer->status != 206 || !a->total || a->offset == a->total)
		return true;
	a->mismatch = a->offset > a->total;
	return false;
}

/* Make one request. Return an exit code that ends the download, or -1 to try again. */
static int attempt_once(struct attempt *a, struct http *h, const char *path)
{
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	bool zstd = a->d->start_over && h->at.kind != HOST_UNIX && !a->plain && !a->offset;
	struct http_request request = {
		.path = a->location ? a->location : path,
		.zstd = zstd,
		.resume_at = a->offset,
		.if_range = a->offset ? a->etag : NULL,
		.body = take_body,
		.context = a,
	};
	int r;

	a->began = false;
	a->asked_zstd = zstd;
	r = http_perform(h, &request, &answer);
	if (r == 0 && (answer.status / 100 == 2 || nothing_left(a, &answer))) {
		if (whole(a, &answer))
			return CTL_OK;
		if (a->mismatch || a->encoded || a->d->refused)
			return give_up(a, h, r, &answer);
		r = HTTP_E_BROKEN; /* only a part of the range came */
	}
	if (r == HTTP_E_RATIO && ask_plain(a, h))
		return -1;
	if (r == 0 && answer.status == 410 && ask_anew(a))
		return -1;
	if (!worth_trying(a, r, &answer) || ++a->tries > TRIES_MAX || !can_continue(a))
		return give_up(a, h, r, &answer);
	if (!wait_turn(h, a, &answer))
		return give_up(a, h, HTTP_E_STOPPED, &answer);
	return -1;
}

int download_run(struct download *d, struct http *h, const char *path)
{
	CLEANUP(attempt_deinit) struct attempt a = {.d = d};
	int r;

	do
		r = attempt_once(&a, h, path);
	while (r < 0);
	return r;
}

uint64_t download_cut_bytes(const char *cut)
{
	static const char key[] = "bytes=";

	return cut && strncmp(cut, key, strlen(key)) == 0 ? strtoull(cut + strlen(key), NULL, 10) : 0;
}

void download_deinit(struct download *d)
{
	free(d->cut);
	free(d->lost);
	free(d->complete);
	free(d->date);
	free(d->location);
	d->cut = NULL;
	d->lost = NULL;
	d->complete = NULL;
	d->date = NULL;
	d->location = NULL;
}

/*
 * The progress line goes to stderr, because the download may go to standard output. The line is
 * redrawn at most ten times a second.
 */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_init(struct progress *p, const char *name)
{
	*p = (struct progress){.shown = isatty(STDERR_FILENO), .name = name, .began_ms = now_ms()};
}

void progress_add(struct progress *p, uint64_t bytes)
{
	CLEANUP(freep) char *name = NULL;
	char done[24], rate[24];
	int64_t now;

	p->bytes += bytes;
	if (!p->shown)
		return;
	now = now_ms();
	if (now - p->drawn_ms < 100)
		return;
	p->drawn_ms = now;
	name = printable(p->name, strlen(p->name));
	bytes_text(p->bytes, done, sizeof(done));
	bytes_text(p->bytes * 1000 / (uint64_t)(now - p->began_ms + 1), rate, sizeof(rate));
	fprintf(stderr, "\r%s: %s, %s/s\033[K", name ? name : "", done, rate);
}

void progress_done(struct progress *p)
{
	if (p->shown && p->drawn_ms)
		fputs("\r\033[K", stderr);
}
