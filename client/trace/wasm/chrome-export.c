/* Merge the events of streams by time, as mprofctl does, and write them as Chrome's trace events. */
#include "chrome-export.h"

#include <stdlib.h>

#include <mprof/model.h>

#include "chrome-json.h"
#include "time-on-line.h"

#define BATCH 256u

struct chrome_stream_input {
	struct input *in;
	int64_t offset_ns;
	uint64_t lost; /* missing packets that the input has reported */
	uint64_t
		gap; /* number of packets that are missing before the next event; the consumer is told with it, or at the end */
	bool over; /* all events were passed on */
	size_t next, n;
	struct mprof_event events[BATCH];
};

struct chrome_export {
	struct writer out;
	struct chrome_json *json;
	struct consumer consumer;
	char *name; /* owned */
	struct chrome_stream_input *streams[CONSUMER_STREAMS_MAX];
	char *names[CONSUMER_STREAMS_MAX]; /* owned */
	uint32_t n, wants;
	bool begun;
};

struct chrome_export *chrome_export_new(char *name, int fd, uint64_t seed)
{
	struct chrome_export *x = calloc(1, sizeof(*x));

	if (!x) {
		free(name);
		return NULL;
	}
	x->name = name;
	if (!writer_init(&x->out, fd))
		return chrome_export_free(x);
	x->json = chrome_json_new(&x->out, name, seed, NULL, &x->consumer);
	return x->json ? x : chrome_export_free(x);
}

struct chrome_export *chrome_export_free(struct chrome_export *x)
{
	if (!x)
		return NULL;
	for (uint32_t i = 0; i < x->n; i++) {
		input_free(x->streams[i]->in);
		free(x->streams[i]);
		free(x->names[i]);
	}
	chrome_json_free(x->json);
	writer_deinit(&x->out);
	free(x->name);
	free(x);
	return NULL;
}

uint32_t chrome_export_stream(struct chrome_export *x, char *name, int64_t offset_ns, enum input_kind kind)
{
	struct chrome_stream_input *s = x->n < CONSUMER_STREAMS_MAX ? calloc(1, sizeof(*s)) : NULL;

	if (s)
		s->in = input_new(kind);
	if (!s || !s->in) {
		free(s);
		free(name);
		return MPROF_NONE;
	}
	s->offset_ns = offset_ns;
	x->streams[x->n] = s;
	x->names[x->n] = name;
	return x->n++;
}

/* Count the packets that are missing before the events just decoded. */
static void count_gap(struct chrome_stream_input *s)
{
	uint64_t lost = input_totals(s->in)->lost_packets;

	s->gap += lost - s->lost;
	s->lost = lost;
}

/* Tell the consumer how many packets are missing before the next event of stream I. Return 0 or -errno. */
static int pass_gap(struct chrome_export *x, uint32_t i)
{
	uint64_t gap = x->streams[i]->gap;

	x->streams[i]->gap = 0;
	return gap ? x->consumer.gap(x->consumer.context, i, gap) : 0;
}

/* Keep of the S->n events those of the program, on the trace's clock. Without an offset all times stay, as in mprofctl. */
static void keep_program(struct chrome_stream_input *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct mprof_event *e = &s->events[i];

		if (!mprof_event_is_program(&e->raw))
			continue;
		if (s->offset_ns)
			e->raw.timestamp = time_on_line(e->raw.timestamp, s->offset_ns);
		s->events[n++] = *e;
	}
	s->n = n;
}

/* Decode the next events of stream I. Return MPROF_OK, also at its end; MPROF_MORE if it needs bytes; or MPROF_NOMEM. */
static enum mprof_status fill(struct chrome_export *x, uint32_t i)
{
	struct chrome_stream_input *s = x->streams[i];
	enum mprof_status status = MPROF_OK;
	int r = 0;

	s->next = 0;
	for (s->n = 0; !s->n && !s->over && !r;) {
		s->n = input_next(s->in, s->events, BATCH, &status);
		if (status == MPROF_NOMEM)
			return status;
		count_gap(s);
		if (s->n) {
			keep_program(s);
			continue;
		}
		if (status == MPROF_MORE) {
			x->wants = i;
			return status;
		}
		if (status == MPROF_CORRUPT)
			r = x->consumer.damage(x->consumer.context, i, input_damage(s->in));
		s->over = status == MPROF_END;
	}
	return r ? MPROF_NOMEM : MPROF_OK;
}

static uint64_t head(const struct chrome_stream_input *s)
{
	return s->events[s->next].raw.timestamp;
}

/* Return the stream with the oldest next event, the first of equals, or MPROF_NONE; and the oldest time in the others. */
static uint32_t oldest(const struct chrome_export *x, uint64_t *elsewhere)
{
	uint32_t best = MPROF_NONE;

	*elsewhere = UINT64_MAX;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct chrome_stream_input *s = x->streams[i];

		if (!s->n)
			continue;
		if (best == MPROF_NONE || head(s) < head(x->streams[best])) {
			*elsewhere = best == MPROF_NONE ? *elsewhere : head(x->streams[best]);
			best = i;
		} else if (head(s) < *elsewhere) {
			*elsewhere = head(s);
		}
	}
	return best;
}

/* Pass on the events of stream I up to the time ELSEWHERE. Return as fill(). */
static enum mprof_status advance(struct chrome_export *x, uint32_t i, uint64_t elsewhere)
{
	struct chrome_stream_input *s = x->streams[i];
	size_t from = s->next;
	int r = pass_gap(x, i);

	do
		s->next++;
	while (s->next < s->n && head(s) <= elsewhere);
	r = r ? r : x->consumer.events(x->consumer.context, i, s->events + from, s->next - from);
	if (r)
		return MPROF_NOMEM;
	return s->next < s->n ? MPROF_OK : fill(x, i);
}

/* Decode the first events of each stream. Return as fill(). */
static enum mprof_status begin(struct chrome_export *x)
{
	enum mprof_status status = MPROF_OK;

	if (!x->begun && x->n > 1 && x->consumer.streams(x->consumer.context, x->names, x->n) != 0)
		return MPROF_NOMEM;
	x->begun = true;
	for (uint32_t i = 0; i < x->n && status == MPROF_OK; i++)
		if (!x->streams[i]->n && !x->streams[i]->over)
			status = fill(x, i);
	return status;
}

/* Write the end of the document. Return MPROF_END, or MPROF_NOMEM. */
static enum mprof_status finish(struct chrome_export *x)
{
	int r = 0;

	for (uint32_t i = 0; i < x->n && !r; i++)
		r = pass_gap(x, i);
	r = r ? r : chrome_json_finish(x->json);
	r = r ? r : writer_flush(&x->out);
	return r ? MPROF_NOMEM : MPROF_END;
}

enum mprof_status chrome_export_step(struct chrome_export *x)
{
	enum mprof_status status = begin(x);
	uint64_t elsewhere;
	uint32_t i;

	while (status == MPROF_OK && (i = oldest(x, &elsewhere)) != MPROF_NONE)
		status = advance(x, i, elsewhere);
	return status == MPROF_OK ? finish(x) : status;
}

uint32_t chrome_export_refused(const struct chrome_export *x)
{
	uint64_t refused = chrome_json_slices(x->json)->refused;

	return refused < UINT32_MAX ? (uint32_t)refused : UINT32_MAX;
}

uint32_t chrome_export_wants(const struct chrome_export *x)
{
	return x->wants;
}

uint8_t *chrome_export_room(struct chrome_export *x, size_t n)
{
	return input_room(x->streams[x->wants]->in, n);
}

void chrome_export_came(struct chrome_export *x, size_t n)
{
	if (n)
		input_came(x->streams[x->wants]->in, n);
	else
		input_end(x->streams[x->wants]->in);
}
