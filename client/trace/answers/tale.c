/*
 * Words.
 *
 * Invariant: the pieces are the text, in its order; a piece without a thread goes on as long as no thread is named and the line is the same.
 */
#include "tale.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mprof_tale *mprof_tale_new(const struct mprof_model_view *view, const struct mprof_why *why,
				  char *const *streams)
{
	struct mprof_tale *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->view = view;
	t->why = why;
	t->streams = streams;
	return t;
}

struct mprof_tale *mprof_tale_free(struct mprof_tale *t)
{
	if (!t)
		return NULL;
	grow_deinit(&t->text);
	grow_deinit(&t->pieces);
	free(t);
	return NULL;
}

void tale_begin(struct mprof_tale *t)
{
	t->text.n = 0;
	t->pieces.n = 0;
	t->line = 0;
	t->failed = false;
}

enum mprof_status tale_end(struct mprof_tale *t)
{
	if (!t->failed)
		return MPROF_OK;
	t->text.n = 0;
	t->pieces.n = 0;
	return MPROF_NOMEM;
}

const struct mprof_tale_piece *mprof_tale_pieces(const struct mprof_tale *t, uint32_t *n)
{
	*n = t->pieces.n;
	return t->pieces.items;
}

const char *mprof_tale_text(const struct mprof_tale *t)
{
	return t->text.items;
}

static struct mprof_tale_piece *piece_new(struct mprof_tale *t, uint32_t thread, uint64_t time)
{
	struct mprof_tale_piece *p = grow_add(&t->pieces, sizeof(*p));

	if (p)
		*p = (struct mprof_tale_piece){.offset = t->text.n, .thread = thread, .line = t->line, .time = time};
	else
		t->failed = true;
	return p;
}

/* Begin a piece that names THREAD, or go on with one that names none. */
static struct mprof_tale_piece *piece(struct mprof_tale *t, uint32_t thread)
{
	struct mprof_tale_piece *last =
		t->pieces.n ? (struct mprof_tale_piece *)t->pieces.items + t->pieces.n - 1 : NULL;

	if (last && thread == MPROF_NONE && last->thread == MPROF_NONE && last->time == MPROF_TALE_UNTIMED &&
	    last->line == t->line)
		return last;
	return piece_new(t, thread, MPROF_TALE_UNTIMED);
}

/* The last piece's text goes on. */
static void put_bytes(struct mprof_tale *t, const char *bytes, size_t n)
{
	struct mprof_tale_piece *last;

	if (t->failed || !n || !grow_reserve(&t->text, 1, (uint32_t)n)) {
		t->failed = t->failed || n;
		return;
	}
	last = (struct mprof_tale_piece *)t->pieces.items + t->pieces.n - 1;
	memcpy((char *)t->text.items + t->text.n, bytes, n);
	t->text.n += (uint32_t)n;
	last->bytes += (uint32_t)n;
}

__attribute__((format(printf, 2, 0))) static void put_list(struct mprof_tale *t, const char *format, va_list args)
{
	char text[256];
	int n = vsnprintf(text, sizeof(text), format, args);

	put_bytes(t, text, n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* In the last piece. */
__attribute__((format(printf, 2, 3))) static void put_on(struct mprof_tale *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_list(t, format, args);
	va_end(args);
}

void tale_put(struct mprof_tale *t, const char *format, ...)
{
	va_list args;

	if (!piece(t, MPROF_NONE))
		return;
	va_start(args, format);
	put_list(t, format, args);
	va_end(args);
}

void tale_line(struct mprof_tale *t)
{
	t->line++;
}

void tale_time(struct mprof_tale *t, uint64_t ns)
{
	if (piece_new(t, MPROF_NONE, ns))
		put_on(t, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

void tale_span(struct mprof_tale *t, uint64_t from, uint64_t to)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	uint64_t ns = to > from ? to - from : 0;
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	tale_put(t, "%.*f %s", i == 3 ? 0 : 3, (double)ns / units[i].ns, units[i].name);
}

void tale_since(struct mprof_tale *t, uint64_t ns)
{
	tale_put(t, "+");
	tale_span(t, t->zero, ns);
}

/* Text of a guest, or of a file's name, on the last piece. */
static void put_safe(struct mprof_tale *t, const char *text, size_t bytes)
{
	size_t left = bytes < MPROF_TALE_TEXT ? bytes : MPROF_TALE_TEXT, n;
	char out[256];

	while (left) {
		n = mprof_text_show(out, sizeof(out), &text, &left);
		put_bytes(t, out, n);
	}
	if (bytes > MPROF_TALE_TEXT)
		put_bytes(t, "...", 3);
}

static void put_string(struct mprof_tale *t, uint32_t i)
{
	const struct mprof_string *s = &t->view->strings[i];

	put_safe(t, s->bytes ? t->view->text + s->offset : "", s->bytes);
}

void tale_quote(struct mprof_tale *t, uint32_t i)
{
	tale_put(t, "\"");
	put_string(t, i);
	tale_put(t, "\"");
}

void tale_name(struct mprof_tale *t, uint32_t stream)
{
	if (piece(t, MPROF_NONE))
		put_safe(t, t->streams[stream], strlen(t->streams[stream]));
}

void tale_who(struct mprof_tale *t, uint32_t thread, uint64_t time)
{
	const struct mprof_thread *it;
	uint32_t label;

	if (thread == MPROF_NONE || (tale_thread(t, thread)->flags & MPROF_THREAD_ROOT)) {
		tale_put(t, "the program itself");
		return;
	}
	it = tale_thread(t, thread);
	if (!piece(t, thread))
		return;
	put_on(t, "%" PRId64 " (%s", it->id, mprof_thread_type_name(it->type));
	label = mprof_why_label(t->why, thread, time);
	if (label != MPROF_NONE) {
		put_on(t, ", \"");
		put_string(t, t->view->labels[label].text);
		put_on(t, "\"");
	}
	if (t->streams) {
		put_on(t, ", of ");
		put_safe(t, t->streams[it->stream], strlen(t->streams[it->stream]));
	}
	put_on(t, ")");
}

void tale_deed(struct mprof_tale *t, uint32_t thread, uint64_t time)
{
	tale_who(t, thread, time);
	tale_put(t, " at ");
	tale_time(t, time);
}
