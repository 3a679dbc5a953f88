/*
 * Text and pieces of an explanation.
 *
 * Invariant: the pieces in order, without gaps, are the text. Adjacent texts on one line that name
 * no thread and state no time are one piece.
 */
#include "explanation-parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return 1 if all streams are those of one guest, else 2. */
static uint32_t guests_of(const struct mprof_model_view *view)
{
	for (uint32_t i = 1; i < view->n_streams; i++)
		if (view->streams[i].guest != view->streams[0].guest)
			return 2;
	return 1;
}

struct mprof_explanation *mprof_explanation_new(const struct mprof_model_view *view, const struct mprof_why *why,
						char *const *streams)
{
	struct mprof_explanation *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->view = view;
	e->why = why;
	e->streams = streams;
	e->guests = guests_of(view);
	return e;
}

struct mprof_explanation *mprof_explanation_free(struct mprof_explanation *e)
{
	if (!e)
		return NULL;
	grow_deinit(&e->text);
	grow_deinit(&e->pieces);
	free(e);
	return NULL;
}

void explain_begin(struct mprof_explanation *e)
{
	e->text.n = 0;
	e->pieces.n = 0;
	e->line = 0;
	e->failed = false;
}

enum mprof_status explain_end(struct mprof_explanation *e)
{
	if (!e->failed)
		return MPROF_OK;
	e->text.n = 0;
	e->pieces.n = 0;
	return MPROF_NOMEM;
}

const struct mprof_explanation_piece *mprof_explanation_pieces(const struct mprof_explanation *e, uint32_t *n)
{
	*n = e->pieces.n;
	return e->pieces.items;
}

const char *mprof_explanation_text(const struct mprof_explanation *e)
{
	return e->text.items;
}

static struct mprof_explanation_piece *piece_new(struct mprof_explanation *e, uint32_t thread, uint64_t time)
{
	struct mprof_explanation_piece *p = grow_add(&e->pieces, sizeof(*p));

	if (p)
		*p = (struct mprof_explanation_piece){
			.offset = e->text.n, .thread = thread, .line = e->line, .time = time};
	else
		e->failed = true;
	return p;
}

/* Begin a piece that names THREAD, or continue one that names no thread. */
static struct mprof_explanation_piece *piece(struct mprof_explanation *e, uint32_t thread)
{
	struct mprof_explanation_piece *last =
		e->pieces.n ? (struct mprof_explanation_piece *)e->pieces.items + e->pieces.n - 1 : NULL;

	if (last && thread == MPROF_NONE && last->thread == MPROF_NONE && last->time == MPROF_EXPLANATION_UNTIMED &&
	    last->line == e->line)
		return last;
	return piece_new(e, thread, MPROF_EXPLANATION_UNTIMED);
}

/* Append to the last piece. */
static void put_bytes(struct mprof_explanation *e, const char *bytes, size_t n)
{
	struct mprof_explanation_piece *last;

	if (e->failed || !n || !grow_reserve(&e->text, 1, (uint32_t)n)) {
		e->failed = e->failed || n;
		return;
	}
	last = (struct mprof_explanation_piece *)e->pieces.items + e->pieces.n - 1;
	memcpy((char *)e->text.items + e->text.n, bytes, n);
	e->text.n += (uint32_t)n;
	last->bytes += (uint32_t)n;
}

__attribute__((format(printf, 2, 0))) static void put_list(struct mprof_explanation *e, const char *format,
							   va_list args)
{
	char text[256];
	int n = vsnprintf(text, sizeof(text), format, args);

	put_bytes(e, text, n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Append to the last piece. */
__attribute__((format(printf, 2, 3))) static void put_on(struct mprof_explanation *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_list(e, format, args);
	va_end(args);
}

void explain_put(struct mprof_explanation *e, const char *format, ...)
{
	va_list args;

	if (!piece(e, MPROF_NONE))
		return;
	va_start(args, format);
	put_list(e, format, args);
	va_end(args);
}

void explain_line(struct mprof_explanation *e)
{
	e->line++;
}

void explain_time(struct mprof_explanation *e, uint64_t ns)
{
	if (piece_new(e, MPROF_NONE, ns))
		put_on(e, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

void explain_span(struct mprof_explanation *e, uint64_t from, uint64_t to)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};
	uint64_t ns = to > from ? to - from : 0;
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	explain_put(e, "%.*f %s", i == 3 ? 0 : 3, (double)ns / units[i].ns, units[i].name);
}

void explain_since(struct mprof_explanation *e, uint64_t ns)
{
	explain_put(e, "+");
	explain_span(e, e->zero, ns);
}

/* Append an untrusted text to the last piece, made printable and cut at the limit. */
static void put_safe(struct mprof_explanation *e, const char *text, size_t bytes)
{
	size_t left = bytes < MPROF_EXPLANATION_TEXT ? bytes : MPROF_EXPLANATION_TEXT, n;
	char out[256];

	while (left) {
		n = mprof_text_show(out, sizeof(out), &text, &left);
		put_bytes(e, out, n);
	}
	if (bytes > MPROF_EXPLANATION_TEXT)
		put_bytes(e, "...", 3);
}

static void put_string(struct mprof_explanation *e, uint32_t i)
{
	const struct mprof_string *s = &e->view->strings[i];

	put_safe(e, s->bytes ? e->view->text + s->offset : "", s->bytes);
}

void explain_quote(struct mprof_explanation *e, uint32_t i)
{
	explain_put(e, "\"");
	put_string(e, i);
	explain_put(e, "\"");
}

void explain_string(struct mprof_explanation *e, uint32_t i, uint32_t offset)
{
	const struct mprof_string *s = &e->view->strings[i];

	if (piece(e, MPROF_NONE) && s->bytes > offset)
		put_safe(e, e->view->text + s->offset + offset, s->bytes - offset);
}

void explain_name(struct mprof_explanation *e, uint32_t stream)
{
	if (piece(e, MPROF_NONE))
		put_safe(e, e->streams[stream], strlen(e->streams[stream]));
}

void explain_who(struct mprof_explanation *e, uint32_t thread, uint64_t time)
{
	const struct mprof_thread *it;
	uint32_t label;

	if (thread == MPROF_NONE || (explain_thread(e, thread)->flags & MPROF_THREAD_ROOT)) {
		explain_put(e, "the program itself");
		return;
	}
	it = explain_thread(e, thread);
	if (!piece(e, thread))
		return;
	put_on(e, "%" PRId64 " (%s", it->id, mprof_thread_type_name(it->type));
	label = mprof_why_label(e->why, thread, time);
	if (label != MPROF_NONE) {
		put_on(e, ", \"");
		put_string(e, e->view->labels[label].text);
		put_on(e, "\"");
	}
	if (e->streams && e->guests > 1) {
		put_on(e, ", of ");
		put_safe(e, e->streams[it->stream], strlen(e->streams[it->stream]));
	}
	put_on(e, ")");
}

void explain_who_when(struct mprof_explanation *e, uint32_t thread, uint64_t time)
{
	explain_who(e, thread, time);
	explain_put(e, " at ");
	explain_time(e, time);
}
