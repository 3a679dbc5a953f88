/*
 * A trace as a database of SQLite (schema/sqlite/tables.sql).
 *
 * slices.c decides the meaning of each event, as for the other formats with threads. A track's
 * number is the number of its thread or counter. The events go to slices.c one by one, so that a
 * slice event can be completed from the event that it comes from: from its text, for instance, and
 * from the two threads that it names.
 *
 * SQLite must read what it wrote, so it writes a regular file: the output itself, or an unnamed
 * file whose bytes are copied to the output when the database is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/statistics.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "exporter.h"
#include "output.h"
#include "seed.h"
#include "slices.h"
#include "thread-rows.h"
#include "trace-tables.h"

#define SECOND 1000000000

/* A stream of the trace. All times are clamped to INT64_MAX. */
struct sqlite_stream {
	bool begun;	    /* at least one event was seen */
	bool in_packet;	    /* PACKET is known */
	int64_t first, now; /* times of the first and the latest event, if BEGUN */
	uint64_t events, packets, lost_packets;
	uint64_t lost;		    /* packets missing after NOW */
	struct mprof_packet packet; /* packet of the events to come, if IN_PACKET */
	/* Events of that packet so far, and their earliest and latest time. */
	uint64_t packet_events;
	int64_t packet_first, packet_last;
	int64_t second; /* second of the latest events, and their number */
	uint64_t second_events;
	int64_t run_start; /* start of the present activation */
};

struct sqlite_state {
	struct export_job *job;
	struct slices slices;
	struct slice_ops ops;
	struct consumer to; /* the consumer of SLICES */
	struct trace_tables tables;
	struct thread_rows threads;
	struct sqlite_stream *streams; /* owned */
	unsigned int n_streams;
	int spool;			   /* unnamed file to copy from, or -1 */
	const struct mprof_raw_event *raw; /* the event being handled; NULL at the end of the trace */
	/* The first instant of a pair, and the threads of the last pair. */
	struct slice_event first;
	uint32_t actor, other;
	uint64_t clamped; /* times later than INT64_MAX */
};

#define PUT(x, row, ...) trace_tables_put(&(x)->tables, (row), (const struct table_cell[]){__VA_ARGS__})

static struct table_cell cell_count(uint64_t n)
{
	return cell_number(n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static const struct table_cell cell_null;

/* Return NS, or INT64_MAX if it is later. Count such times. */
static int64_t clamp(struct sqlite_state *s, uint64_t ns)
{
	if (ns <= INT64_MAX)
		return (int64_t)ns;
	s->clamped++;
	return INT64_MAX;
}

/* ---- rows of slice events */

/* Return the name of KIND, an enum mprof_counter_kind, or NULL. */
static struct table_cell kind_cell(uint8_t kind)
{
	const char *name = mprof_counter_kind_name(kind);

	return name ? cell_constant(name) : cell_null;
}

static struct table_cell raw_text(const struct sqlite_state *s)
{
	return s->raw->text ? cell_text(s->raw->text, s->raw->text_bytes) : cell_null;
}

static int put_interaction(struct sqlite_state *s, uint64_t time, uint32_t actor, uint32_t other)
{
	return PUT(s, ROW_INTERACTION, cell_number((int64_t)time), cell_constant(mprof_event_name(s->raw->id)),
		   cell_thread(actor), cell_thread(other), s->raw->id == MPROF_EVENT_fails ? raw_text(s) : cell_null);
}

/* A life begins: of a thread that the event creates, or of one that was there before the trace. */
static int begin_life(struct sqlite_state *s, const struct slice_event *e)
{
	bool created = e->actor;
	int64_t id = 0;

	for (unsigned int i = 0; i < e->n_notes; i++)
		if (strcmp(e->notes[i].key, created ? "other" : "thread") == 0)
			id = e->notes[i].number;
	return thread_rows_add(&s->threads, &(struct thread_row){
						    .thread = e->track,
						    .stream = e->stream,
						    .id = id,
						    .type = e->name,
						    .origin = created ? "created" : "existing",
						    .creator = e->actor,
						    .lives = true,
						    .created = (int64_t)e->time,
						    .ended = (int64_t)e->time,
					    });
}

/* A life ends. Resolving and becoming events report their two threads first. */
static int end_life(struct sqlite_state *s, const struct slice_event *e)
{
	uint8_t id = s->raw ? s->raw->id : MPROF_EVENT_IDS;
	bool resolved = id == MPROF_EVENT_fulfills || id == MPROF_EVENT_fails, became = id == MPROF_EVENT_becomes;

	bool failed = id == MPROF_EVENT_fails;
	const struct thread_row end = {
		.thread = e->track,
		.ended = (int64_t)e->time,
		.ending = s->raw ? mprof_event_name(id) : NULL,
		.resolver = resolved ? s->actor : 0,
		.became = became ? s->other : 0,
		.expected = e->expected,
	};

	return thread_rows_end(&s->threads, &end, failed ? s->raw->text : NULL, failed ? s->raw->text_bytes : 0);
}

/* Both instants of a pair have come: the one of the category `target` is that of the other thread. */
static int put_pair(struct sqlite_state *s, const struct slice_event *e)
{
	bool back;

	if (e->flow == SLICE_FLOW_BEGINS) {
		s->first = *e;
		return 0;
	}
	back = s->first.target;
	s->actor = back ? e->track : s->first.track;
	s->other = back ? s->first.track : e->track;
	return put_interaction(s, e->time, s->actor, s->other);
}

static int put_label(struct sqlite_state *s, const struct slice_event *e)
{
	int r = slice_is_marker(s->raw) ? thread_rows_expect(&s->threads, e->track) : 0;

	return r ? r : PUT(s, ROW_LABEL, cell_number((int64_t)e->time), cell_number(e->track), raw_text(s));
}

static int put_instant(struct sqlite_state *s, const struct slice_event *e)
{
	if (e->flow != SLICE_FLOW_NONE)
		return put_pair(s, e);
	switch ((enum mprof_event_id)s->raw->id) {
	case MPROF_EVENT_label:
		return put_label(s, e);
	case MPROF_EVENT_creates:
		/* A thread that shares an entry has a creator. Otherwise the id names no thread. */
		return e->actor ? put_interaction(s, e->time, e->actor, e->track)
				: put_interaction(s, e->time, e->track, 0);
	case MPROF_EVENT_read:
	case MPROF_EVENT_try_read:
	case MPROF_EVENT_read_later:
		return put_interaction(s, e->time, e->track, 0);
	default:
		return 0; /* a switch to the thread that runs, or to one that has ended */
	}
}

static int put_sample(struct sqlite_state *s, const struct slice_event *e)
{
	bool change = s->raw->id == MPROF_EVENT_increase;

	return PUT(s, ROW_SAMPLE, cell_number((int64_t)e->time), cell_number(e->track), cell_number(e->value),
		   change ? cell_number(s->raw->number) : cell_null, cell_thread(e->actor));
}

static int put_collection(struct sqlite_state *s, const struct slice_event *e)
{
	return PUT(s, ROW_COLLECTION, cell_number(e->stream), cell_number((int64_t)e->time),
		   cell_number((int64_t)e->until), cell_number(clamp(s, (uint64_t)s->raw->number)));
}

static int put_duration(struct sqlite_state *s, const struct slice_event *e)
{
	uint64_t ns = (uint64_t)s->raw->number, end = s->raw->timestamp;

	return PUT(s, ROW_DURATION, cell_number(e->stream), cell_thread(e->actor),
		   cell_number(clamp(s, ns < end ? end - ns : 0)), cell_number(clamp(s, end)),
		   cell_number(clamp(s, ns)), raw_text(s));
}

/* A whole slice comes with its event. */
static int put_whole(struct sqlite_state *s, const struct slice_event *e)
{
	if (e->kind == SLICE_END)
		return 0;
	return s->raw->id == MPROF_EVENT_gc ? put_collection(s, e) : put_duration(s, e);
}

static int put_activation(struct sqlite_state *state, const struct slice_event *e)
{
	struct sqlite_stream *s = &state->streams[e->stream];

	if (e->kind == SLICE_BEGIN) {
		s->run_start = (int64_t)e->time;
		return 0;
	}
	return PUT(state, ROW_ACTIVATION, cell_number(e->track), cell_number(s->run_start),
		   cell_number((int64_t)e->time));
}

static int on_slice(void *context, const struct slice_event *e)
{
	struct sqlite_state *s = context;

	if (e->kind == SLICE_INSTANT)
		return put_instant(s, e);
	if (e->kind == SLICE_VALUE)
		return put_sample(s, e);
	if (e->life)
		return e->kind == SLICE_BEGIN ? begin_life(s, e) : end_life(s, e);
	return e->whole ? put_whole(s, e) : put_activation(s, e);
}

/*
 * Add a counter, the first label of a thread, or a thread that has no begin and no end: the root, or
 * the one for all threads beyond the table's limit. Other threads are added when they begin.
 */
static int on_track(void *context, const struct slice_track *track)
{
	struct sqlite_state *s = context;
	bool shared;

	if (track->kind == TRACK_COUNTER)
		return PUT(s, ROW_COUNTER, cell_number(track->track), cell_number(track->stream), raw_text(s),
			   kind_cell(s->raw->type));
	if (track->kind != TRACK_THREAD)
		return 0;
	if (track->renamed)
		return thread_rows_label(&s->threads, track->track, s->raw->text, s->raw->text_bytes);
	shared = track->thread->flags & THREAD_SHARED;
	if (!shared && track->thread->id != MPROF_THREAD_NONE)
		return 0; /* its life begins next */
	return thread_rows_add(&s->threads, &(struct thread_row){
						    .thread = track->track,
						    .stream = track->stream,
						    .id = track->thread->id,
						    .type = mprof_thread_type_name(MPROF_THREAD_UNKNOWN),
						    .origin = shared ? "shared" : "root",
					    });
}

/* ---- streams, packets, gaps, damage, seconds */

static int set_up(struct sqlite_state *s, char *const *names, unsigned int count)
{
	int r = 0;

	s->streams = calloc(count, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	s->n_streams = count;
	for (unsigned int i = 0; i < count && !r; i++) {
		const char *name = names ? names[i] : s->job->trace;

		r = PUT(s, ROW_STREAM, cell_number(i), cell_text(name, strlen(name)));
	}
	return r;
}

static int sqlite_streams(void *context, char *const *names, unsigned int count)
{
	struct sqlite_state *s = context;
	int r = set_up(s, names, count);

	return r ? r : s->to.streams(s->to.context, names, count);
}

/* Set *S to stream number STREAM. A single stream is set up at its first use. */
static int stream_at(struct sqlite_state *state, unsigned int stream, struct sqlite_stream **s)
{
	int r = state->streams ? 0 : set_up(state, NULL, 1);

	*s = r ? NULL : &state->streams[stream];
	return r;
}

/* Write the packet of the latest events, if it has any. */
static int end_packet(struct sqlite_state *state, unsigned int stream, struct sqlite_stream *s)
{
	uint64_t events = s->packet_events;

	if (!s->in_packet || !events)
		return 0;
	s->packet_events = 0;
	s->packets++;
	return PUT(state, ROW_PACKET, cell_number(stream), cell_count(s->packet.sequence), cell_count(s->packet.offset),
		   cell_number(s->packet.content_bytes), cell_number(s->packet.packet_bytes), cell_count(events),
		   cell_number(s->packet_first), cell_number(s->packet_last));
}

static int end_second(struct sqlite_state *state, unsigned int stream, struct sqlite_stream *s)
{
	uint64_t events = s->second_events;

	s->second_events = 0;
	return events ? PUT(state, ROW_SECOND, cell_number(stream), cell_number(s->second), cell_count(events)) : 0;
}

/* Write the missing packets before an event; NULL if there is none behind them. */
static int end_gap(struct sqlite_state *state, unsigned int stream, struct sqlite_stream *s, const int64_t *before)
{
	uint64_t lost = s->lost;

	s->lost = 0;
	s->lost_packets += lost;
	return lost ? PUT(state, ROW_GAP, cell_number(stream), s->begun ? cell_number(s->now) : cell_null,
			  before ? cell_number(*before) : cell_null, cell_count(lost))
		    : 0;
}

/* Count an event at TIME. */
static int count(struct sqlite_state *state, unsigned int stream, struct sqlite_stream *s, int64_t time)
{
	int64_t second = time / SECOND;
	int r = s->lost ? end_gap(state, stream, s, &time) : 0;

	if (!s->begun)
		s->first = s->now = time;
	s->begun = true;
	s->now = time > s->now ? time : s->now;
	s->events++;
	if (!s->packet_events || time < s->packet_first)
		s->packet_first = time;
	if (!s->packet_events || time > s->packet_last)
		s->packet_last = time;
	s->packet_events++;
	if (second != s->second)
		r = r ? r : end_second(state, stream, s);
	s->second = second;
	s->second_events++;
	return r;
}

static int sqlite_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct sqlite_state *state = context;
	struct sqlite_stream *s;
	int r = stream_at(state, stream, &s);

	for (size_t i = 0; i < n && !r; i++) {
		state->raw = &events[i].raw;
		r = count(state, stream, s, clamp(state, events[i].raw.timestamp));
		r = r ? r : state->to.events(state->to.context, stream, &events[i], 1);
	}
	state->raw = NULL;
	return r;
}

static int sqlite_packet(void *context, unsigned int stream, const struct mprof_packet *packet)
{
	struct sqlite_state *state = context;
	struct sqlite_stream *s;
	int r = stream_at(state, stream, &s);

	r = r ? r : end_packet(state, stream, s);
	if (r)
		return r;
	s->packet = *packet;
	s->in_packet = true;
	return 0;
}

/* slices.c must know that the thread may have stopped. The gap itself is written here. */
static int sqlite_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct sqlite_state *state = context;
	struct sqlite_stream *s;
	int r = stream_at(state, stream, &s);

	if (r)
		return r;
	s->lost += packets;
	return state->to.gap(state->to.context, stream, 0);
}

static int sqlite_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct sqlite_state *state = context;
	struct sqlite_stream *s;
	char text[256];
	size_t bytes = mprof_damage_text(damage, text, sizeof(text));
	int r = stream_at(state, stream, &s);

	return r ? r
		 : PUT(state, ROW_DAMAGE, cell_number(stream), s->begun ? cell_number(s->now) : cell_null,
		       cell_count(damage->packet), cell_count(damage->offset), cell_count(damage->skipped),
		       cell_text(text, bytes));
}

/* ---- the file */

/*
 * Return a descriptor of an empty regular file for SQLite: the output, or an unnamed file, which S
 * then owns. Return -errno.
 */
static int database_fd(struct sqlite_state *s)
{
	int fd = s->job->out->fd, flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDWR && !(flags & O_APPEND) && fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && !st.st_size && lseek(fd, 0, SEEK_CUR) == 0)
		return fd;
	return s->spool = spool_file();
}

static int sqlite_begin(struct export_job *job, struct consumer *consumer)
{
	struct sqlite_state *x = calloc(1, sizeof(*x));
	int fd, r;

	job->state = x;
	if (!x)
		return -ENOMEM;
	x->job = job;
	x->spool = -1;
	x->ops = (struct slice_ops){.track = on_track, .event = on_slice, .context = x};
	slices_init(&x->slices, &x->ops, job->trace, seed_new(x), spool_file);
	x->slices.exact = true;
	x->slices.at_once = true;
	x->to = slices_consumer(&x->slices);
	*consumer = (struct consumer){
		.streams = sqlite_streams,
		.events = sqlite_events,
		.packet = sqlite_packet,
		.gap = sqlite_gap,
		.damage = sqlite_damage,
		.context = x,
	};
	fd = database_fd(x);
	r = fd < 0 ? fd : trace_tables_init(&x->tables, fd);
	return r ? r : thread_rows_init(&x->threads, &x->tables);
}

static int end_stream(struct sqlite_state *state, unsigned int i)
{
	struct sqlite_stream *s = &state->streams[i];
	int r = end_gap(state, i, s, NULL);

	r = r ? r : end_packet(state, i, s);
	r = r ? r : end_second(state, i, s);
	return r ? r
		 : PUT(state, ROW_STREAM_TOTALS, cell_number(i), s->begun ? cell_number(s->first) : cell_null,
		       s->begun ? cell_number(s->now) : cell_null, cell_count(s->events), cell_count(s->packets),
		       cell_count(s->lost_packets));
}

/* Copy the unnamed file to the output. */
static int copy_out(const struct sqlite_state *s)
{
	CLEANUP(freep) char *piece = malloc(WRITER_BYTES);
	off_t at = 0;
	ssize_t n = 1;

	if (!piece)
		return -ENOMEM;
	while (n > 0 && !s->job->out->error) {
		do
			n = pread(s->spool, piece, WRITER_BYTES, at);
		while (n < 0 && errno == EINTR);
		if (n > 0)
			writer_put_long(s->job->out, piece, (size_t)n);
		at += n;
	}
	return n < 0 ? -errno : -s->job->out->error;
}

static void report(const struct sqlite_state *s)
{
	if (s->clamped)
		say("times later than 2^63-1 ns, for which the database has 9223372036854775807: %" PRIu64, s->clamped);
	slices_report_refused(&s->slices);
}

static int sqlite_finish(struct export_job *job)
{
	struct sqlite_state *x = job->state;
	struct sqlite_stream *s;
	int r = stream_at(x, 0, &s);

	r = r ? r : slices_finish(&x->slices);
	r = r ? r : thread_rows_flush(&x->threads);
	for (unsigned int i = 0; i < x->n_streams && !r; i++)
		r = end_stream(x, i);
	if (!r)
		r = PUT(x, ROW_TRACE, cell_text(job->trace, strlen(job->trace)), cell_count(job->events),
			cell_count(x->clamped), cell_count(x->slices.refused));
	r = r ? r : trace_tables_finish(&x->tables);
	if (!r && x->spool >= 0)
		r = copy_out(x);
	if (!r)
		report(x);
	return r;
}

static void sqlite_end(struct export_job *job)
{
	struct sqlite_state *x = job->state;

	if (!x)
		return;
	thread_rows_deinit(&x->threads);
	trace_tables_deinit(&x->tables);
	slices_deinit(&x->slices);
	closep(&x->spool);
	free(x->streams);
	free(x);
}

const struct exporter export_sqlite = {
	.name = "sqlite",
	.what = "a database for sqlite3, with tables of threads, relations, counters, …",
	.suffix = ".db",
	.open = sqlite_begin,
	.finish = sqlite_finish,
	.close = sqlite_end,
};
