/*
 * JSON in mprofctl.
 *
 * jansson accepts only UTF-8, but strings from a guest can hold any bytes. jansson also prints
 * control characters above U+007E and bidirectional marks unescaped. So jansson's output passes
 * through mprof_text_json(), which escapes these characters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "memory-stream.h"
#include "table.h"

#define PIECE 512u

json_t *text_json(const char *text, size_t len)
{
	CLEANUP(freep) char *quoted = NULL;
	size_t room = len * MPROF_TEXT_FACTOR + 64, n;

	if (mprof_text_is_utf8(text, len))
		return json_stringn(text, len);
	quoted = malloc(room + 2);
	if (!quoted)
		return NULL;
	quoted[0] = '"';
	n = 1 + mprof_text_json(quoted + 1, room, &text, &len);
	quoted[n++] = '"';
	return json_loadb(quoted, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/*
 * Return the number of bytes at the start of TEXT that are 0x7f or more, if BEYOND is true, or less
 * than 0x7f, if BEYOND is false.
 */
static size_t run(const char *text, size_t len, bool beyond)
{
	size_t n = 0;

	while (n < len && ((unsigned char)text[n] >= 0x7f) == beyond)
		n++;
	return n;
}

/*
 * A callback of json_dump_callback(): write LEN bytes of jansson's output to the FILE CONTEXT,
 * escaped. jansson never splits a character between two calls. Return 0, or -1 if writing fails.
 */
static int put(const char *text, size_t len, void *context)
{
	FILE *f = context;
	char piece[PIECE];

	while (len) {
		size_t n = run(text, len, false), left;

		if (fwrite(text, 1, n, f) != n)
			return -1;
		text += n;
		len -= n;
		for (left = run(text, len, true), len -= left; left;) {
			n = mprof_text_json(piece, sizeof(piece), &text, &left);
			if (fwrite(piece, 1, n, f) != n)
				return -1;
		}
	}
	return 0;
}

bool json_put(const json_t *json, FILE *f, size_t flags)
{
	return json && json_dump_callback(json, put, f, flags) == 0;
}

char *json_text(const json_t *json, size_t flags)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	bool whole;

	if (!f)
		return NULL;
	whole = json_put(json, f, flags);
	whole &= !ferror(f); /* jansson 2.14 takes no notice of a key that is not written */
	if (memory_stream_close(f, &text) && whole)
		return text;
	free(text);
	return NULL;
}

/* The functions write_json_*() return no error. struct writer keeps the first error. */

/*
 * Write the member "KEY_hex" with the LEN bytes at TEXT in hexadecimal. It is for a string that is
 * not UTF-8, whose bytes the string in JSON does not show.
 */
static void put_hex(struct writer *w, const char *key, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	writer_put(w, ",\"", 2);
	writer_put(w, key, strlen(key));
	writer_put(w, "_hex\":\"", 7);
	for (size_t i = 0; i < len && !w->error; i++) {
		char *out = writer_room(w, 2);

		out[0] = digits[(uint8_t)text[i] >> 4];
		out[1] = digits[(uint8_t)text[i] & 15];
		writer_advance(w, 2);
	}
	writer_put(w, "\"", 1);
}

/*
 * Write the members of E's JSON that do not depend on its string, and MORE behind the first one,
 * `time_ns`. Without a string mprof_event_json() has written the closing brace. Take the brace back,
 * because more members can follow.
 */
static void put_fixed(struct writer *w, const struct mprof_raw_event *e, const char *more, size_t more_bytes)
{
	char fixed[MPROF_TEXT_FIXED_MAX];
	size_t n, first;

	if (!more_bytes) {
		n = mprof_event_json(e, writer_room(w, MPROF_TEXT_FIXED_MAX));
		writer_advance(w, n - !e->text);
		return;
	}
	n = mprof_event_json(e, fixed) - !e->text;
	first = (size_t)((char *)memchr(fixed, ',', n) - fixed) + 1;
	writer_put(w, fixed, first);
	writer_put(w, more, more_bytes);
	writer_put(w, fixed + first - 1, n - first + 1);
}

void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream)
{
	write_json_event_with(w, e, stream, NULL, 0);
}

void write_json_event_with(struct writer *w, const struct mprof_raw_event *e, const char *stream, const char *more,
			   size_t n)
{
	put_fixed(w, e, more, n);
	if (e->text) {
		write_json_text(w, e->text, e->text_bytes);
		writer_put(w, "\"", 1);
		if (!mprof_text_is_utf8(e->text, e->text_bytes))
			put_hex(w, mprof_event_text_key(e), e->text, e->text_bytes);
	}
	if (stream) {
		writer_put(w, ",\"stream\":\"", 11);
		write_json_text(w, stream, strlen(stream));
		writer_put(w, "\"", 1);
	}
	writer_put(w, "}", 1);
}

/* Parts of sentences. Text that a guest wrote is printed with print_text() or print_safe(). */

void print_time(uint64_t ns)
{
	printf("%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

void print_span(uint64_t from, uint64_t to)
{
	char span[SPAN_TEXT_MAX];

	fputs(span_text(to > from ? to - from : 0, span, sizeof(span)), stdout);
}

void print_count(json_int_t n, const char *noun)
{
	printf("%" JSON_INTEGER_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}

void print_missing(json_int_t packets)
{
	print_count(packets, "packet");
	fputs(packets == 1 ? " is missing" : " are missing", stdout);
}

void print_text(const char *text, size_t len)
{
	char piece[PIECE];

	while (len) {
		size_t n = mprof_text_show(piece, sizeof(piece), &text, &len);

		fwrite(piece, 1, n, stdout);
	}
}

void print_safe(const char *text)
{
	print_text(text, strlen(text));
}
