/* `mprofctl dump`: print all events of a trace, or selected events, as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mprof/trace.h>

#include "array.h"
#include "cleanup.h"
#include "dumper.h"
#include "filter.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "verbs.h"

/*
 * The functions that print return no error. D->out keeps the first write error, and cmd_dump()
 * reports it.
 */

#define TEXT_SHORT 256u /* longest string, in bytes, that put_short_line() prints */

static int dumper_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n);

static int dumper_pause(void *context)
{
	struct dumper *d = context;

	return writer_flush(&d->out);
}

static int dumper_streams(void *context, char *const *names, unsigned int count)
{
	struct dumper *d = context;

	(void)count;
	d->streams = names;
	return 0;
}

bool dumper_init(struct dumper *d, int out_fd, bool json)
{
	*d = (struct dumper){.json = json};
	d->consumer = (struct consumer){
		.streams = dumper_streams, .events = dumper_events, .pause = dumper_pause, .context = d};
	return writer_init(&d->out, out_fd);
}

void dumper_deinit(struct dumper *d)
{
	writer_deinit(&d->out);
}

static void put_text(struct dumper *d, const char *text, size_t left)
{
	while (left && !d->out.error) {
		/*
		 * Escape at most 4096 bytes at a time, because the writer's buffer does not hold a
		 * string of any length.
		 */
		size_t piece = left < 4096 ? left * MPROF_TEXT_FACTOR + 32 : 4096 * MPROF_TEXT_FACTOR;
		char *out = writer_room(&d->out, piece);

		writer_advance(&d->out, mprof_text_escape(out, piece, &text, &left));
	}
}

/*
 * Print an event that has no string or one of at most TEXT_SHORT bytes. This path is fast, because
 * it reserves the buffer once for the whole line, and nearly all events take it.
 */
static void put_short_line(struct dumper *d, const struct mprof_raw_event *e)
{
	char *line = writer_room(&d->out, MPROF_TEXT_FIXED_MAX + TEXT_SHORT * MPROF_TEXT_FACTOR + 64);
	const char *text = e->text;
	size_t left = e->text_bytes, n = mprof_event_text(e, line);

	if (text) {
		n += mprof_text_escape(line + n, TEXT_SHORT * MPROF_TEXT_FACTOR + 32, &text, &left);
		line[n++] = '"';
	}
	line[n++] = '\n';
	writer_advance(&d->out, n);
}

/* Print E up to its string, with the time as D->timing shows it. */
static void put_timed(struct dumper *d, const struct mprof_raw_event *e)
{
	char line[MPROF_TEXT_FIXED_MAX], time[TIMING_TEXT_MAX];
	size_t n = mprof_event_text(e, line), time_bytes = timing_text(d->timing, e->timestamp, time);
	const char *rest = memchr(line, ' ', n);

	writer_put(&d->out, time, time_bytes);
	writer_put(&d->out, rest, n - (size_t)(rest - line));
}

static void put_line(struct dumper *d, const struct mprof_raw_event *e, const char *stream)
{
	if (d->timing)
		put_timed(d, e);
	else
		writer_advance(&d->out, mprof_event_text(e, writer_room(&d->out, MPROF_TEXT_FIXED_MAX)));
	if (e->text) {
		put_text(d, e->text, e->text_bytes);
		writer_put(&d->out, "\"", 1);
	}
	if (stream) {
		writer_put(&d->out, " stream=\"", 9);
		put_text(d, stream, strlen(stream));
		writer_put(&d->out, "\"", 1);
	}
	writer_put(&d->out, "\n", 1);
}

/* Write the members of E's JSON that stand for its wall time to TEXT. Return their length. */
static size_t wall_members(struct timing *t, const struct mprof_raw_event *e, char *text, size_t size)
{
	uint64_t uncertainty = t->clock.known ? t->clock.uncertainty_ns : UINT64_MAX;
	size_t n = (size_t)snprintf(text, size, "\"wall\":");

	n += timing_json_text(t, e->timestamp, text + n);
	if (uncertainty == UINT64_MAX)
		return n + (size_t)snprintf(text + n, size - n, ",\"wall_uncertainty_ns\":null");
	return n + (size_t)snprintf(text + n, size - n, ",\"wall_uncertainty_ns\":\"%" PRIu64 "\"", uncertainty);
}

static void put_json_line(struct dumper *d, const struct mprof_raw_event *e, const char *stream)
{
	char wall[TIMING_TEXT_MAX + 80];
	size_t n = d->timing && d->timing->kind == TIME_WALL ? wall_members(d->timing, e, wall, sizeof(wall)) : 0;

	write_json_event_with(&d->out, e, stream, wall, n);
	writer_put(&d->out, "\n", 1);
}

static int dumper_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct dumper *d = context;
	const char *name = d->streams ? d->streams[stream] : NULL;

	for (size_t i = 0; i < n && !d->out.error; i++) {
		const struct mprof_raw_event *e = &events[i].raw;

		if (d->timing && !d->begun) {
			d->timing->first = e->timestamp;
			d->begun = true;
		}
		if (d->filter && !filter_takes(d->filter, stream, e))
			continue;
		if (d->json)
			put_json_line(d, e, name);
		else if (d->timing || name || e->text_bytes > TEXT_SHORT)
			put_line(d, e, name);
		else
			put_short_line(d, e);
	}
	return d->filter && d->filter->failed ? -ENOMEM : -d->out.error;
}

static void dumper_deinitp(struct dumper *d)
{
	dumper_deinit(d);
}

/*
 * Report why the dumper stopped the reading: a write error, or no memory. Return an exit code,
 * which is CTL_OK if the reader of a pipe closed it.
 */
static int refusal(const struct dumper *d)
{
	if (d->out.error == EPIPE)
		return CTL_OK;
	if (!d->out.error)
		return say_memory();
	say("cannot write standard output: %s", strerror(d->out.error));
	return CTL_FAILED;
}

int cmd_dump(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(input_deinit) struct input in = {0};
	CLEANUP(filter_deinit) struct filter filter = {0};
	CLEANUP(dumper_deinitp) struct dumper d = {0};
	struct selection s;
	struct timing timing = {0};
	struct operands left;
	struct options o;
	int r = options_parse(ctl, argc, argv, &o, &left);

	r = r ? r : input_take_files(&in, &left, left.n, argv[0]);
	r = r ? r : timing_parse(&timing, &o, TIME_GUEST, argv[0]);
	r = r ? r : filter_parse(&filter, o.event, o.thread, o.label, argv[0]);
	if (r)
		return r;
	if (!dumper_init(&d, STDOUT_FILENO, ctl->json))
		return say_memory();
	if (o.from || o.to || o.event || o.thread || o.label)
		d.filter = &filter;
	d.consumer.recorders = filter.recorders || filter.states;
	filter.period = &timing.period;
	timing.by_lines = true;
	if (timing.kind != TIME_GUEST)
		d.timing = &timing;
	in.timing = &timing;
	s = selection_of(&o);
	r = input_run(&in, ctl, &d.consumer, left.at[0], &s, o.follow, argv[0]);
	return r == INPUT_REFUSED ? refusal(&d) : r;
}
