/*
 * /.../ctf.tar: all streams of a run or a capture as a CTF directory in a tar.
 *
 * The header of a file has its size and comes before the file, so each stream is planned first, as
 * for a trace. Then the stamps of the packets give the offset of the guest's clock, which goes into
 * the metadata. The body is a sequence of parts: text in memory (headers, metadata, padding), and
 * the packets of the streams.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/ids.h>

#include "body.h"
#include "clock.h"
#include "embedded.h"
#include "guest-clock.h"
#include "reading-json.h"
#include "resource.h"
#include "routes.h"
#include "tar.h"

void tar_header(char *out, const char *name, uint64_t bytes, uint64_t seconds)
{
	unsigned sum = 0;

	memset(out, 0, TAR_BLOCK);
	snprintf(out, 100, "%s", name);
	memcpy(out + 100, "0000644", 7);
	memcpy(out + 108, "0000000", 7);
	memcpy(out + 116, "0000000", 7);
	/*
	 * More than eleven octal digits: a big-endian number, which all current tar programs read.
	 */
	if (bytes >> 33) {
		out[124] = (char)0x80;
		for (int i = 0; i < 8; i++)
			out[135 - i] = (char)(bytes >> 8 * i);
	} else {
		snprintf(out + 124, 12, "%011" PRIo64, bytes);
	}
	snprintf(out + 136, 12, "%011" PRIo64, seconds & 077777777777u);
	out[156] = '0';
	memcpy(out + 257, "ustar\00000", 8);
	memset(out + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)out[i];
	snprintf(out + 148, 8, "%06o", sum);
	out[155] = ' ';
}

size_t tar_padding(uint64_t bytes)
{
	return (size_t)(-bytes % TAR_BLOCK);
}

struct tar_member {
	struct plan plan;
	uint32_t number;
};

enum part { PART_METADATA_HEADER, PART_METADATA, PART_HEADER, PART_STREAM, PART_PADDING, PART_END, PART_DONE };

struct tarball {
	bool whole;
	int64_t capture; /* capture of the resource; 0 = the resource is a run */
	char directory[48];
	int64_t run;
	uint64_t seconds;
	struct reader *reader;
	struct scratch *scratch;
	struct decode_thread *decode_thread;
	size_t n, at; /* number of files; index of the file that is planned, timed or sent */
	struct tar_member *files;
	/* The offset of the guest's clock. */
	bool local;   /* the guest is a program of this host */
	bool planned; /* all files are planned; file AT is being timed */
	bool timing;  /* CLOCK has begun file AT */
	struct guest_clock clock;
	char *metadata; /* owned */
	size_t metadata_bytes;
	/* Fields of the body. */
	enum part part;
	bool begun;
	struct body_stream body;
	char block[2 * TAR_BLOCK];
	size_t block_at, block_bytes;
	size_t metadata_at;
};

static void tarball_free(void *context)
{
	struct tarball *t = context;

	if (t->begun)
		body_stream_deinit(&t->body);
	for (size_t i = 0; i < t->n; i++)
		plan_deinit(&t->files[i].plan);
	free(t->files);
	free(t->metadata);
	free(t);
}

/* Put the header of the file NAME into BLOCK. */
static void ready_header(struct tarball *t, const char *name, uint64_t bytes)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", t->directory, name);
	tar_header(t->block, path, bytes, t->seconds);
	t->block_at = 0;
	t->block_bytes = TAR_BLOCK;
}

static void ready_zeros(struct tarball *t, size_t bytes)
{
	memset(t->block, 0, sizeof(t->block));
	t->block_at = 0;
	t->block_bytes = bytes;
}

/* Put the header of file number T->at into BLOCK, or the end of the tar. */
static void ready_file(struct tarball *t)
{
	char name[48];

	t->part = t->at < t->n ? PART_HEADER : PART_END;
	if (t->part == PART_END) {
		ready_zeros(t, 2 * TAR_BLOCK);
		return;
	}
	snprintf(name, sizeof(name), "run-%" PRId64 "-stream-%" PRIu32, t->run, t->files[t->at].number);
	ready_header(t, name, t->files[t->at].plan.total);
}

/* Begin the part that follows the current one. Return 0 or an error. */
static int next_part(struct tarball *t)
{
	struct plan *plan;

	switch (t->part) {
	case PART_METADATA_HEADER:
		t->part = PART_METADATA;
		return 0;
	case PART_METADATA:
		t->part = PART_PADDING;
		ready_zeros(t, tar_padding(t->metadata_bytes));
		return 0;
	case PART_HEADER:
		plan = &t->files[t->at].plan;
		t->part = PART_STREAM;
		t->begun = true;
		return body_stream_init(&t->body, t->reader, t->scratch, t->decode_thread, plan, false, false,
					plan->total);
	case PART_STREAM:
		body_stream_deinit(&t->body);
		t->begun = false;
		t->part = PART_PADDING;
		ready_zeros(t, tar_padding(t->files[t->at++].plan.total));
		return 0;
	case PART_PADDING:
		ready_file(t);
		return 0;
	case PART_END:
	case PART_DONE:
		t->part = PART_DONE;
		return 0;
	}
	return -EINVAL;
}

/*
 * Emit at most MAX bytes of the current part into OUT. *N is their number, 0 at the end of the
 * part. Return 0 or an error.
 */
static int part_pull(struct tarball *t, char *out, size_t max, size_t *n)
{
	int rc;

	*n = 0;
	if (t->part == PART_STREAM) {
		rc = body_stream_pull(&t->body, out, max, n);
		return rc == BODY_E_END ? 0 : rc;
	}
	if (t->part == PART_METADATA) {
		*n = t->metadata_bytes - t->metadata_at < max ? t->metadata_bytes - t->metadata_at : max;
		memcpy(out, t->metadata + t->metadata_at, *n);
		t->metadata_at += *n;
		return 0;
	}
	*n = t->block_bytes - t->block_at < max ? t->block_bytes - t->block_at : max;
	memcpy(out, t->block + t->block_at, *n);
	t->block_at += *n;
	return 0;
}

static ssize_t on_tar(void *context, uint64_t position, char *out, size_t max)
{
	struct tarball *t = context;
	size_t n;

	(void)position;
	while (t->part != PART_DONE) {
		if (part_pull(t, out, max, &n) != 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (n)
			return (ssize_t)n;
		if (next_part(t) != 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Set T->directory to NAME with all characters replaced that could be unsafe in a path. */
static void directory_name(struct tarball *t, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(t->directory) - 1 && name[i]; i++)
		t->directory[i] = name[i] == '/' || name[i] == '.' || (unsigned char)name[i] <= ' ' ||
						  (unsigned char)name[i] >= 0x7f || strchr("\\:*?\"<>|", name[i])
					  ? '_'
					  : name[i];
	t->directory[i] = '\0';
	if (i == 0 || t->directory[0] == '-')
		snprintf(t->directory, sizeof(t->directory), "trace");
}

static int take_name(void *context, const struct archive_run *run)
{
	struct tarball *t = context;

	t->run = run->id;
	t->local = strcmp(run->source, "dir") == 0;
	t->seconds = run->began_real / NS_PER_S;
	directory_name(t, run->name);
	return 0;
}

/* Add what T lacks, in all its streams, and what of it is damaged. */
static void add_losses(struct exchange *x, struct tarball *t, struct MHD_Response *response)
{
	struct span_losses sum = {0}, one;
	char text[32], damages[READING_DAMAGES_TEXT];

	for (size_t i = 0; i < t->n; i++) {
		sum.at_least |= span_lost(t->reader, &t->files[i].plan.selection.span, &one) != 0 || one.at_least;
		sum.packets += one.packets;
	}
	snprintf(text, sizeof(text), "%" PRIu64 "%s", sum.packets, sum.at_least ? "+" : "");
	exchange_add_header(x, response, "Mprof-Lost-Packets", text);
	if (t->capture)
		exchange_add_header(x, response, "Mprof-Complete", t->whole ? "true" : "false");
	if (t->capture && capture_damages(x, t->capture, damages))
		exchange_add_header(x, response, "Mprof-Damages", damages);
}

static enum outcome tar_send(struct exchange *x, struct tarball *t)
{
	uint64_t total = 3 * TAR_BLOCK + t->metadata_bytes + tar_padding(t->metadata_bytes), hash = 0;
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	struct MHD_Response *response;
	char etag[64];

	for (size_t i = 0; i < t->metadata_bytes; i++) /* it has the offset of the clock */
		hash = (hash ^ (unsigned char)t->metadata[i]) * 0x100000001b3u;
	for (size_t i = 0; i < t->n; i++) {
		total += TAR_BLOCK + t->files[i].plan.total + tar_padding(t->files[i].plan.total);
		hash = (hash ^ t->files[i].plan.hash) * 0x9e3779b97f4a7c15u;
	}
	snprintf(etag, sizeof(etag), "\"%016" PRIx64 "-%" PRIx64 "-tar\"", hash, total);
	if (!exchange_if_match(x, etag))
		return OUTCOME_DONE;
	if (match && request_etag_matches(match, etag)) {
		response = exchange_unchanged(total);
		if (response)
			exchange_add_header(x, response, MHD_HTTP_HEADER_ETAG, etag);
		return exchange_respond(x, MHD_HTTP_NOT_MODIFIED, response);
	}
	t->at = 0;
	t->part = PART_METADATA_HEADER;
	ready_header(t, "metadata", t->metadata_bytes);
	response = MHD_create_response_from_callback(total, EXCHANGE_LONG_BLOCK, on_tar, t, tarball_free);
	if (!response)
		return exchange_reader_problem(x, -ENOMEM, "");
	x->work = NULL; /* the response owns the tarball now */
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-tar");
	exchange_add_header(x, response, MHD_HTTP_HEADER_ETAG, etag);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	add_losses(x, t, response);
	return exchange_respond(x, MHD_HTTP_OK, response);
}

/* Plan the files until UNTIL. Return 0 or what the reader returns. */
static int tar_plan(struct tarball *t, uint64_t until)
{
	int rc = 0;

	while (rc == 0 && t->at < t->n) {
		rc = plan_step(&t->files[t->at].plan, until);
		if (rc != 0 || !t->files[t->at].plan.done)
			return rc;
		t->at++;
	}
	t->planned = true;
	t->at = 0;
	return 0;
}

/*
 * Read the stamps of the packets until UNTIL, and then make the metadata. Return 0 or what the reader
 * returns.
 */
static int tar_time(struct tarball *t, uint64_t until)
{
	int rc = 0;

	while (rc == 0 && t->at < t->n && clock_mono() < until) {
		if (t->files[t->at].number >= MPROF_STREAM_HOST) {
			t->at++;
			continue;
		}
		if (!t->timing)
			guest_clock_stream(&t->clock, t->reader, t->scratch, &t->files[t->at].plan.selection);
		rc = guest_clock_step(&t->clock, until);
		t->timing = !t->clock.done;
		t->at += t->clock.done;
	}
	if (rc != 0)
		return rc;
	if (t->at < t->n)
		return 0;
	t->metadata_bytes = embedded_metadata_bytes;
	t->metadata = guest_clock_metadata(&t->clock, t->local, embedded_metadata, &t->metadata_bytes);
	return t->metadata ? 0 : -ENOMEM;
}

static enum outcome tar_step(struct exchange *x)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	struct tarball *t = x->work;
	int rc = reader_begin(t->reader);

	if (rc == 0) {
		rc = t->planned ? 0 : tar_plan(t, until);
		if (rc == 0 && t->planned)
			rc = tar_time(t, until);
		reader_end(t->reader);
	}
	if (rc != 0)
		return exchange_reader_problem(x, rc, "");
	return t->metadata ? tar_send(x, t) : OUTCOME_AGAIN;
}

static enum outcome tar_begin(struct exchange *x, struct resource *res)
{
	struct tarball *t = calloc(1, sizeof(*t));
	struct selection s;
	int rc;

	if (!t)
		return exchange_reader_problem(x, -ENOMEM, "");
	x->work = t;
	x->work_free = tarball_free;
	t->reader = exchange_reader(x);
	t->scratch = exchange_scratch(x);
	t->decode_thread = exchange_services(x)->decode_thread;
	t->files = calloc(res->n_streams + 1, sizeof(*t->files));
	rc = t->files ? reader_run(t->reader, res->run, take_name, t) : -ENOMEM;
	if (rc != 0)
		return exchange_reader_problem(x, rc, "The run was deleted meanwhile.");
	if (resource_gone(x, res, NULL))
		return OUTCOME_DONE;
	t->whole = resource_complete(res);
	t->capture = res->capture;
	for (size_t i = 0; i < res->n_streams; i++) {
		if (res->capture && (!res->streams[i].range.capture || res->streams[i].coverage == COVERAGE_NONE))
			continue;
		if (!resource_select(x, res, &res->streams[i], NULL, &s))
			return OUTCOME_DONE;
		plan_init(&t->files[t->n].plan, t->reader, t->scratch, &s);
		t->files[t->n++].number = res->streams[i].number;
	}
	return tar_step(x);
}

enum outcome get_domain_ctf(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};

	if (x->work)
		return tar_step(x);
	if (!exchange_hold(x))
		return OUTCOME_AGAIN;
	return resource_domain(x, NULL, &res) ? tar_begin(x, &res) : OUTCOME_DONE;
}

enum outcome get_capture_ctf(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};

	if (x->work)
		return tar_step(x);
	if (!exchange_hold(x))
		return OUTCOME_AGAIN;
	return resource_capture(x, &res) ? tar_begin(x, &res) : OUTCOME_DONE;
}
