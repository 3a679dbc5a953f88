/*
 * Decode the streams of a capture, build the model, and describe how it ends.
 *
 * All streams are rings of one guest. Their events are merged by time, which is what the model wants of
 * streams that share their threads.
 */
#include "reading.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <mprof/cause.h>
#include <mprof/explanation.h>
#include <mprof/reading.h>

#define READ_FIRST  (1u << 20) /* bytes of a stream that are read first */
#define MAIN_THREAD 0
#define END_PACKETS 2u /* packets behind damage, at least, that tell how the program ended (schema/reading.md) */

struct stream {
	uint8_t *bytes;
	struct mprof_decoder *decoder;
	struct mprof_event event; /* the next one, if HAS */
	bool has;
	uint64_t lost;	  /* packets that the model was told of */
	bool broken;	  /* bytes before EVENT were skipped */
	bool is_hurt;	  /* the decoder met damage, or misses packets */
	uint64_t hurt;	  /* packets up to the last place of that */
	uint64_t missing; /* lost packets so far */
	bool is_ours;	  /* its recorder declares itself as this project's, so thread 0 is the main thread */
	bool main_known;  /* an event has resolved thread 0, or made it one of many */
};

struct reading {
	struct stream streams[READING_STREAMS_MAX];
	uint32_t n;
	struct mprof_model *model;
	uint64_t events, damages;
	bool cut;					 /* the input does not have the ends of all streams */
	bool main_failed;				 /* the main thread of a stream failed */
	char exception[MPROF_READING_EXCEPTION_MAX + 1]; /* text of that `fails`, else of the last one so far */
};

struct texts {
	char cause[MPROF_READING_CAUSE_MAX + 1], sentence[MPROF_READING_SENTENCE_MAX + 1];
	char last[MPROF_READING_LAST_MAX + 1], exception[MPROF_READING_EXCEPTION_MAX + 1];
	char failure[MPROF_READING_FAILURE_MAX + 1];
	bool main_failed, whole_end;
	bool read; /* the numbers of damage are known */
	uint64_t damage[3];
};

/* ---- input and output ---- */

static bool read_all(int fd, void *to, size_t bytes)
{
	uint8_t *at = to;
	ssize_t n;

	for (; bytes; bytes -= (size_t)n, at += n) {
		n = read(fd, at, bytes);
		if (n <= 0)
			return false;
	}
	return true;
}

static int write_all(int fd, const void *from, size_t bytes)
{
	const uint8_t *at = from;
	ssize_t n;

	for (; bytes; bytes -= (size_t)n, at += n) {
		n = write(fd, at, bytes);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Append a section of KIND with TEXT to OUT at N, unless TEXT is empty. Return the bytes in OUT. */
static size_t put(uint8_t *out, size_t n, enum mprof_reading_kind kind, const char *text)
{
	size_t bytes = strlen(text);

	if (!bytes)
		return n;
	mprof_reading_section(out + n, kind, (uint32_t)bytes);
	memcpy(out + n + MPROF_READING_SECTION_BYTES, text, bytes);
	return n + MPROF_READING_SECTION_BYTES + bytes;
}

/* Append a section with the numbers of damage to OUT at N. Return the bytes in OUT. */
static size_t put_damage(uint8_t *out, size_t n, const struct texts *t)
{
	mprof_reading_section(out + n, MPROF_READING_DAMAGE, MPROF_READING_DAMAGE_BYTES);
	n += MPROF_READING_SECTION_BYTES;
	for (unsigned i = 0; i < 3; i++, n += 8)
		mprof_store64(out + n, t->damage[i]);
	return n;
}

/* Append a section of KIND without content to OUT at N, if it IS_SET. Return the bytes in OUT. */
static size_t put_mark(uint8_t *out, size_t n, enum mprof_reading_kind kind, bool is_set)
{
	if (is_set)
		mprof_reading_section(out + n, kind, 0);
	return is_set ? n + MPROF_READING_SECTION_BYTES : n;
}

static int answer(int out, const struct texts *t)
{
	uint8_t bytes[sizeof(*t) + MPROF_READING_HEADER_BYTES + 8 * MPROF_READING_SECTION_BYTES];
	size_t n = MPROF_READING_HEADER_BYTES;

	mprof_reading_begin(bytes);
	n = put(bytes, n, MPROF_READING_FAILURE, t->failure);
	n = put(bytes, n, MPROF_READING_CAUSE, t->cause);
	n = put(bytes, n, MPROF_READING_SENTENCE, t->sentence);
	n = put(bytes, n, MPROF_READING_LAST, t->last);
	n = put(bytes, n, MPROF_READING_EXCEPTION, t->exception);
	if (t->read)
		n = put_damage(bytes, n, t);
	n = put_mark(bytes, n, MPROF_READING_MAIN_FAILED, t->main_failed);
	n = put_mark(bytes, n, MPROF_READING_WHOLE_END, t->whole_end);
	return write_all(out, bytes, n);
}

/* ---- events ---- */

/* Make room for ROOM bytes in S, at least one. Return false without memory. */
static bool grow(struct stream *s, size_t room)
{
	uint8_t *more = realloc(s->bytes, room + 1);

	if (more)
		s->bytes = more;
	return more != NULL;
}

#define PARTLY	  "the reader got a part of the capture"
#define NO_MEMORY "the reader needs more memory than it may have"

/*
 * Read a stream of BYTES bytes from IN to S. Memory is taken as bytes come, so a wrong number takes none.
 * Return a sentence about a failure, or NULL.
 */
static const char *read_stream(int in, uint64_t bytes, struct stream *s)
{
	uint64_t room = 0, part;

	do {
		part = room ? room : READ_FIRST;
		if (part > bytes - room)
			part = bytes - room;
		if (room + part > SIZE_MAX / 2 || !grow(s, (size_t)(room + part)))
			return NO_MEMORY;
		if (!read_all(in, s->bytes + room, (size_t)part))
			return PARTLY;
		room += part;
	} while (room < bytes);
	return NULL;
}

/* Read the streams of IN. Return a sentence about a failure, or NULL. */
static const char *read_streams(struct reading *r, int in)
{
	const char *failure;
	struct reading_head head;
	uint64_t bytes;

	if (!read_all(in, &head, sizeof(head)) || (head.magic != READING_MAGIC && head.magic != READING_MAGIC_CUT) ||
	    head.streams > READING_STREAMS_MAX)
		return "the reader got no capture";
	r->cut = head.magic == READING_MAGIC_CUT;
	while (r->n < head.streams) {
		struct stream *s = &r->streams[r->n++];

		if (!read_all(in, &bytes, sizeof(bytes)))
			return PARTLY;
		s->decoder = mprof_decoder_new();
		if (s->decoder)
			mprof_decoder_recorders(s->decoder, true);
		failure = s->decoder ? read_stream(in, bytes, s) : NO_MEMORY;
		if (failure)
			return failure;
		mprof_decoder_feed(s->decoder, s->bytes, (size_t)bytes);
	}
	return NULL;
}

/* Note in S where its decoder, whose last answer was STATUS, has met damage, or misses packets. */
static void note_hurt(struct stream *s, enum mprof_status status)
{
	const struct mprof_totals *totals = mprof_decoder_totals(s->decoder);

	if (totals->lost_packets > s->missing)
		s->hurt = totals->packets - 1; /* before this one */
	if (status == MPROF_CORRUPT)
		s->hurt = totals->packets;
	s->is_hurt |= status == MPROF_CORRUPT || totals->lost_packets > s->missing;
	s->missing = totals->lost_packets;
}

/* Return whether R has the ends of all streams of the capture, and could decode them. */
static bool has_whole_end(const struct reading *r)
{
	bool whole = !r->cut;

	for (uint32_t i = 0; i < r->n; i++)
		whole &= !r->streams[i].is_hurt ||
			 mprof_decoder_totals(r->streams[i].decoder)->packets >= r->streams[i].hurt + END_PACKETS;
	return whole;
}

/* Find the next event of S. Return false without memory. */
static bool next(struct reading *r, struct stream *s)
{
	enum mprof_status status;

	do {
		status = mprof_decoder_next(s->decoder, &s->event);
		if (status == MPROF_MORE)
			mprof_decoder_finish(s->decoder);
		note_hurt(s, status);
		r->damages += status == MPROF_CORRUPT;
		s->broken |= status == MPROF_CORRUPT;
	} while (status == MPROF_MORE || status == MPROF_CORRUPT);
	s->has = status == MPROF_OK;
	return status == MPROF_OK || status == MPROF_END;
}

/*
 * Note whether E, an event of S, resolves the main thread of S. Only the first such event counts: a thread is resolved once.
 * A thread 0 that another thread creates is none that the program began with. (The OCaml port lets no thread create it.)
 * Streams may be of several programs, each with a thread 0, so one says nothing of another.
 */
static void note_main(struct reading *r, struct stream *s, const struct mprof_raw_event *e)
{
	bool fails;

	if (mprof_event_is_recorder(e))
		s->is_ours = (e->number & 0xffff) == (MPROF_DIALECT_MPROF | MPROF_DIALECT_VERSION << 8);
	if (!s->is_ours || s->main_known)
		return;
	fails = e->id == MPROF_EVENT_fails && e->number == MAIN_THREAD;
	r->main_failed |= fails;
	s->main_known = fails || (e->id == MPROF_EVENT_fulfills && e->number == MAIN_THREAD) ||
			(e->id == MPROF_EVENT_becomes && e->context == MAIN_THREAD) ||
			(e->id == MPROF_EVENT_creates && e->number == MAIN_THREAD && e->context != MPROF_THREAD_NONE);
}

/* Note the text of E, if it is a `fails`: made printable, and cut if it is long. That of the main thread stays. */
static void note_exception(struct reading *r, struct stream *s, const struct mprof_raw_event *e)
{
	const char *text = e->text;
	size_t left = e->text_bytes, n;
	bool failed = r->main_failed;

	note_main(r, s, e);
	if (e->id != MPROF_EVENT_fails || !text || failed)
		return;
	n = mprof_text_show(r->exception, sizeof(r->exception) - 1, &text, &left);
	r->exception[n] = '\0';
}

/* Add the next event of stream I to the model, and the packets that are missing before it. */
static bool add(struct reading *r, uint32_t i)
{
	struct stream *s = &r->streams[i];
	uint64_t lost = mprof_decoder_totals(s->decoder)->lost_packets;

	if ((lost > s->lost || s->broken) && mprof_model_gap(r->model, i, lost - s->lost) != MPROF_OK)
		return false;
	s->lost = lost;
	s->broken = false;
	r->events += mprof_event_is_program(&s->event.raw);
	note_exception(r, s, &s->event.raw);
	return mprof_model_add(r->model, i, &s->event.raw) == MPROF_OK && next(r, s);
}

static bool merge(struct reading *r)
{
	uint32_t oldest, stream;

	for (uint32_t i = 0; i < r->n; i++)
		if (mprof_model_stream(r->model, &(struct mprof_model_source){0}, &stream) != MPROF_OK ||
		    !next(r, &r->streams[i]))
			return false;
	do {
		oldest = r->n;
		for (uint32_t i = 0; i < r->n; i++)
			if (r->streams[i].has && (oldest == r->n || r->streams[i].event.raw.timestamp <
									    r->streams[oldest].event.raw.timestamp))
				oldest = i;
	} while (oldest < r->n ? add(r, oldest) : false);
	return oldest == r->n;
}

/* ---- texts ---- */

/* Append BYTES of TEXT to OUT, which has room for SIZE bytes with its NUL; cut them between two characters. */
static void append(char *out, size_t size, const char *text, size_t bytes)
{
	size_t used = strlen(out), room = size - 1 - used;

	if (bytes > room) {
		bytes = room;
		while (bytes && ((uint8_t)text[bytes] & 0xc0) == 0x80)
			bytes--;
	}
	memcpy(out + used, text, bytes);
	out[used + bytes] = '\0';
}

/*
 * Append line LINE of E's text to OUT, behind a line break unless OUT is empty. Return false if there is no such
 * line.
 */
static bool append_line(char *out, size_t size, const struct mprof_explanation *e, uint32_t line)
{
	const char *text = mprof_explanation_text(e);
	const struct mprof_explanation_piece *pieces;
	bool found = false;
	uint32_t n;

	pieces = mprof_explanation_pieces(e, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (pieces[i].line != line)
			continue;
		if (!found && *out)
			append(out, size, "\n", 1);
		found = true;
		append(out, size, text + pieces[i].offset, pieces[i].bytes);
	}
	return found;
}

/* Return the line of E that says why: the first one behind line 0 that is not indented; 0 if there is none. */
static uint32_t verdict_line(const struct mprof_explanation *e)
{
	const char *text = mprof_explanation_text(e);
	const struct mprof_explanation_piece *pieces;
	uint32_t n, line = 0;

	pieces = mprof_explanation_pieces(e, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (pieces[i].line == line)
			continue;
		line = pieces[i].line;
		if (pieces[i].bytes && text[pieces[i].offset] != ' ')
			return line;
	}
	return 0;
}

/* The sentence begins with the line that says why: a list shows the first line alone. */
static bool tell_why(struct mprof_explanation *e, uint32_t thread, struct texts *t)
{
	uint32_t first;

	if (mprof_explanation_why(e, thread) != MPROF_OK)
		return false;
	first = verdict_line(e);
	append_line(t->sentence, sizeof(t->sentence), e, first);
	for (uint32_t line = 0; line == first || append_line(t->sentence, sizeof(t->sentence), e, line);)
		line++;
	return true;
}

static bool tell_last(const struct reading *r, struct mprof_explanation *e, struct texts *t)
{
	/* The streams of one guest have one answer. */
	for (uint32_t i = 0; i < r->n && i < 1; i++) {
		if (mprof_explanation_last(e, i) != MPROF_OK)
			return false;
		for (uint32_t line = 0; append_line(t->last, sizeof(t->last), e, line);)
			line++;
	}
	return true;
}

/* If the main thread failed, that is why the program ended: the sentence begins with it, whatever else waits. */
static void tell_main(const struct reading *r, struct texts *t)
{
	static const char said[] = "the main thread failed";

	if (!r->main_failed)
		return;
	append(t->sentence, sizeof(t->sentence), said, sizeof(said) - 1);
	if (*r->exception)
		append(t->sentence, sizeof(t->sentence), ": ", 2);
	append(t->sentence, sizeof(t->sentence), r->exception, strlen(r->exception));
}

static bool describe(const struct reading *r, const struct mprof_model_view *view, struct texts *t)
{
	struct mprof_why *why = mprof_why_new(view);
	struct mprof_explanation *e = why ? mprof_explanation_new(view, why, NULL) : NULL;
	struct mprof_cause cause;
	bool ok = e && mprof_cause_find(view, why, &cause) == MPROF_OK && tell_last(r, e, t);

	tell_main(r, t);
	if (ok && cause.kind != MPROF_CAUSE_NONE)
		memcpy(t->cause, cause.text, cause.bytes + 1);
	if (ok && cause.kind != MPROF_CAUSE_NONE && cause.kind != MPROF_CAUSE_LAST)
		ok = tell_why(e, cause.thread, t);
	else if (ok && !r->main_failed)
		append(t->sentence, sizeof(t->sentence), t->last, strlen(t->last));
	mprof_explanation_free(e);
	mprof_why_free(why);
	return ok;
}

/* Read all, and fill T. Return a sentence about a failure, or NULL. */
static const char *read_capture(struct reading *r, int in, struct texts *t)
{
	struct mprof_model_options options = {0};
	const char *failure = read_streams(r, in);

	if (failure)
		return failure;
	(void)!getrandom(&options.seed, sizeof(options.seed), 0);
	r->model = mprof_model_new(&options);
	if (!r->model || !merge(r) || mprof_model_finish(r->model) != MPROF_OK)
		return NO_MEMORY;
	if (!r->events && r->damages)
		return "none of its packets can be decoded";
	if (!r->events) {
		append(t->sentence, sizeof(t->sentence), "the capture has no events", 25);
		return NULL;
	}
	return describe(r, mprof_model_view(r->model), t) ? NULL : NO_MEMORY;
}

/* Sum the damage of all streams of R in T. */
static void note_damage(const struct reading *r, struct texts *t)
{
	t->read = true;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct mprof_totals *totals = mprof_decoder_totals(r->streams[i].decoder);

		t->damage[0] += totals->damages;
		t->damage[1] += totals->skipped;
		t->damage[2] += totals->unproven;
	}
}

static void reading_free(struct reading *r)
{
	for (uint32_t i = 0; r && i < r->n; i++) {
		free(r->streams[i].bytes);
		mprof_decoder_free(r->streams[i].decoder);
	}
	if (r)
		mprof_model_free(r->model);
	free(r);
}

int reading_run(int in, int out)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct texts t = {0};
	const char *failure = r ? read_capture(r, in, &t) : NO_MEMORY;

	if (failure) {
		t = (struct texts){0};
		append(t.failure, sizeof(t.failure), failure, strlen(failure));
	} else {
		append(t.exception, sizeof(t.exception), r->exception, strlen(r->exception));
		t.main_failed = r->main_failed;
		t.whole_end = has_whole_end(r);
		note_damage(r, &t);
	}
	reading_free(r);
	return answer(out, &t);
}
