/* This file writes events as comma-separated values (RFC 4180): a row of headings and a row for each event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "csv-text.h"
#include "digits.h"
#include "exporter.h"

#define FIXED_MAX 160u

struct csv_state {
	struct writer *out;   /* output; borrowed */
	char *const *streams; /* names of the streams; borrowed; NULL for a single stream */
};

/* Write a text as a cell, and a second cell if HEX is set: the text's bytes in hexadecimal if it is not valid UTF-8, else nothing. */
static void put_text(struct writer *w, const char *text, size_t len, bool hex)
{
	static const char digits[] = "0123456789abcdef";
	bool valid = mprof_text_is_utf8(text, len);

	csv_text_put(w, text, len);
	writer_put(w, ",", hex);
	for (size_t i = 0; hex && !valid && i < len && !w->error; i++) {
		char *out = writer_room(w, 2);

		out[0] = digits[(uint8_t)text[i] >> 4];
		out[1] = digits[(uint8_t)text[i] & 15];
		writer_advance(w, 2);
	}
}

/*
 * Write all cells in front of the text, each with its comma, to OUT, which has FIXED_MAX bytes.
 * Return the number of bytes written.
 */
static size_t fixed(const struct mprof_raw_event *e, char *out)
{
	enum mprof_shape shape = mprof_event_shape(e->id);
	bool other =
		shape == MPROF_SHAPE_THREAD || shape == MPROF_SHAPE_THREAD_TYPE || shape == MPROF_SHAPE_THREAD_TEXT;
	size_t n = digits_put(out, e->timestamp);

	out[n++] = ',';
	n += (size_t)(stpcpy(out + n, mprof_event_name(e->id)) - (out + n));
	out[n++] = ',';
	if (mprof_event_has_thread(e->id))
		n += digits_put_signed(out + n, e->context);
	out[n++] = ',';
	if (other)
		n += digits_put_signed(out + n, e->number);
	out[n++] = ',';
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		n += (size_t)(stpcpy(out + n, mprof_thread_type_name(e->type)) - (out + n));
	out[n++] = ',';
	if (shape == MPROF_SHAPE_DURATION || shape == MPROF_SHAPE_EXTRA)
		n += digits_put(out + n, (uint64_t)e->number);
	else if (shape == MPROF_SHAPE_AMOUNT_TEXT)
		n += digits_put_signed(out + n, e->number);
	out[n++] = ',';
	return n;
}

static int csv_streams(void *context, char *const *names, unsigned int count)
{
	struct csv_state *s = context;

	(void)count;
	s->streams = names;
	return 0;
}

static int csv_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct csv_state *s = context;
	struct writer *w = s->out;
	const char *name = s->streams ? s->streams[stream] : NULL;

	for (size_t i = 0; i < n && !w->error; i++) {
		const struct mprof_raw_event *e = &events[i].raw;

		writer_advance(w, fixed(e, writer_room(w, FIXED_MAX)));
		if (e->text)
			put_text(w, e->text, e->text_bytes, true);
		else
			writer_put(w, ",", 1);
		writer_put(w, ",", 1);
		if (name)
			put_text(w, name, strlen(name), false);
		writer_put(w, "\r\n", 2);
	}
	return -w->error;
}

static int csv_open(struct export_job *job, struct consumer *consumer)
{
	static const char head[] = "time_ns,event,thread,other,type,value,text,text_hex,stream\r\n";
	struct csv_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->out = job->out;
	*consumer = (struct consumer){.streams = csv_streams, .events = csv_events, .context = s};
	writer_put(s->out, head, sizeof(head) - 1);
	return 0;
}

static int csv_finish(struct export_job *job)
{
	return -job->out->error;
}

static void csv_close(struct export_job *job)
{
	free(job->state);
}

const struct exporter export_csv = {
	.name = "csv",
	.what = "comma-separated values, a row for each event",
	.suffix = ".csv",
	.open = csv_open,
	.finish = csv_finish,
	.close = csv_close,
};
