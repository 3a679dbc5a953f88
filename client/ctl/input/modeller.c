/*
 * This file builds the model of a trace. The rings of one program share their threads, and the model has a
 * guest for each program: threads of two programs are different threads, even if they have the same id.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "filter.h"
#include "modeller.h"
#include "seed.h"

static int add_streams(struct modeller *m, unsigned int n)
{
	uint32_t stream, guest;

	m->lost = calloc(n, sizeof(*m->lost));
	m->broken = calloc(n, sizeof(*m->broken));
	if (!m->lost || !m->broken)
		return -ENOMEM;
	for (; m->streams < n; m->streams++) {
		guest = m->streams < m->n_guests ? m->guests[m->streams] : m->streams;
		if (mprof_model_stream(m->model, &(struct mprof_model_source){.guest = guest}, &stream) != MPROF_OK)
			return -ENOMEM;
	}
	return 0;
}

static int on_guests(void *context, const uint32_t *guests, unsigned int count)
{
	struct modeller *m = context;

	m->guests = calloc(count, sizeof(*guests));
	if (!m->guests)
		return -ENOMEM;
	memcpy(m->guests, guests, count * sizeof(*guests));
	m->n_guests = count;
	return 0;
}

static int on_streams(void *context, char *const *names, unsigned int count)
{
	struct modeller *m = context;

	m->names = calloc(count, sizeof(*m->names));
	if (!m->names || add_streams(m, count))
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		m->names[i] = strdup(names[i]);
		if (!m->names[i])
			return -ENOMEM;
	}
	return 0;
}

static int on_packet(void *context, unsigned int stream, const struct mprof_packet *packet)
{
	struct modeller *m = context;

	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	mprof_model_packet(m->model, stream, packet->count);
	return 0;
}

/*
 * Count the missing packets until the next event. If that event is filtered out, the gap is too.
 */
static int on_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct modeller *m = context;

	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	m->lost[stream] += packets;
	return 0;
}

/* Note a gap of unknown length before the next event. A bad line of a log is none. */
static int on_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct modeller *m = context;

	if (damage->reason == MPROF_DAMAGE_LINE)
		return 0;
	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	m->broken[stream] = true;
	return 0;
}

static bool add_gap(struct modeller *m, unsigned int stream)
{
	uint64_t packets = m->lost[stream];
	bool gap = packets || m->broken[stream];

	m->lost[stream] = 0;
	m->broken[stream] = false;
	return !gap || mprof_model_gap(m->model, stream, packets) == MPROF_OK;
}

static int on_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct modeller *m = context;
	uint64_t to;

	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	period_holds(m->period, events[0].raw.timestamp);
	to = m->cut ? period_to(m->period) : UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if (events[i].raw.timestamp <= to &&
		    (!add_gap(m, stream) || mprof_model_add(m->model, stream, &events[i].raw) != MPROF_OK))
			return -ENOMEM;
	return 0;
}

int modeller_tail(void *context, unsigned int stream, uint64_t from_ns)
{
	struct modeller *m = context;

	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	if (stream >= m->streams)
		return 0;
	if (!m->tails) {
		m->tails = malloc(m->streams * sizeof(*m->tails));
		if (!m->tails)
			return -ENOMEM;
		memset(m->tails, 0xff, m->streams * sizeof(*m->tails));
	}
	m->tails[stream] = from_ns;
	return 0;
}

bool modeller_init(struct modeller *m, struct period *period, bool cut)
{
	struct mprof_model_options options = {.seed = seed_new(m)};

	*m = (struct modeller){
		.period = period,
		.cut = cut,
		.consumer = {.guests = on_guests,
			     .streams = on_streams,
			     .events = on_events,
			     .packet = on_packet,
			     .gap = on_gap,
			     .recorders = true,
			     .damage = on_damage,
			     .context = m},
		.model = mprof_model_new(&options),
	};
	return m->model;
}

void modeller_deinit(struct modeller *m)
{
	for (unsigned int i = 0; m->names && i < m->streams; i++)
		free(m->names[i]);
	free(m->names);
	free(m->guests);
	free(m->lost);
	free(m->broken);
	free(m->tails);
	m->model = mprof_model_free(m->model);
}

bool modeller_finish(struct modeller *m)
{
	if (!m->streams && add_streams(m, 1))
		return false;
	/* Gaps at the end of the trace, unless that end is left out. */
	for (unsigned int i = 0; i < m->streams && !(m->cut && m->period->to.given); i++)
		if (!add_gap(m, i))
			return false;
	if (mprof_model_finish(m->model) != MPROF_OK)
		return false;
	m->view = mprof_model_view(m->model);
	return true;
}

bool modeller_leads(const struct modeller *m, unsigned int stream)
{
	for (unsigned int i = 0; i < stream; i++)
		if (m->view->streams[i].guest == m->view->streams[stream].guest)
			return false;
	return true;
}

bool modeller_one_guest(const struct modeller *m)
{
	for (unsigned int i = 1; i < m->view->n_streams; i++)
		if (modeller_leads(m, i))
			return false;
	return true;
}

bool modeller_ended(const struct modeller *m, unsigned int stream)
{
	const struct mprof_model_view *v = m->view;
	bool ended = false;

	for (uint32_t i = 0; i < v->n_threads; i++) {
		if (v->streams[v->threads[i].stream].guest != v->streams[stream].guest ||
		    !(v->threads[i].flags & MPROF_THREAD_SHOULD_RESOLVE))
			continue;
		if (!(v->threads[i].flags & MPROF_THREAD_RESOLVED))
			return false;
		ended = true;
	}
	return ended && !modeller_one_guest(m);
}

void modeller_range(const struct modeller *m, struct timing *timing)
{
	uint64_t last = m->period->first;

	for (uint32_t i = 0; i < m->view->n_streams; i++)
		last = m->view->streams[i].end > last ? m->view->streams[i].end : last;
	timing_range(timing, m->period->first, last);
}

/* Match each string once and keep the results in MATCHES, because many labels share a string. */
uint8_t *modeller_labelled(const struct modeller *m, const char *glob)
{
	const struct mprof_model_view *v = m->view;
	CLEANUP(freep) uint8_t *matches = calloc((size_t)v->n_strings + 1, 1);
	uint8_t *labelled = calloc((size_t)v->n_threads + 1, 1);

	if (!matches || !labelled) {
		free(labelled);
		return NULL;
	}
	for (uint32_t i = 0; i < v->n_strings; i++) {
		const struct mprof_string *s = &v->strings[i];

		matches[i] = glob_match(glob, s->bytes ? v->text + s->offset : "", s->bytes);
	}
	for (uint32_t i = 0; i < v->n_labels; i++)
		if (v->labels[i].sample == MPROF_NONE && matches[v->labels[i].text])
			labelled[v->labels[i].thread] = 1;
	return labelled;
}
