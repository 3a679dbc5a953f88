/* Threads of different streams have nothing to do with each other, whatever their ids: each stream is a guest of its own to the model. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "glob.h"
#include "modeller.h"
#include "scope.h"
#include "text-json.h"

static int add_streams(struct modeller *m, unsigned int n)
{
	uint32_t stream;

	for (; m->streams < n; m->streams++)
		if (mprof_model_stream(m->model, &(struct mprof_model_source){.guest = m->streams}, &stream) !=
		    MPROF_OK)
			return -ENOMEM;
	return 0;
}

static int on_streams(void *data, char *const *names, unsigned int count)
{
	struct modeller *m = data;
	unsigned int i;

	m->names = calloc(count, sizeof(*m->names));
	if (!m->names || add_streams(m, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		m->names[i] = strdup(names[i]);
		if (!m->names[i])
			return -ENOMEM;
	}
	return 0;
}

static int on_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct modeller *m = data;
	uint64_t to;
	size_t i;

	if (!m->streams && add_streams(m, 1))
		return -ENOMEM;
	period_holds(m->period, events[0].raw.timestamp);
	to = m->cut ? period_to(m->period) : UINT64_MAX;
	for (i = 0; i < n; i++)
		if (events[i].raw.timestamp <= to && mprof_model_add(m->model, stream, &events[i].raw) != MPROF_OK)
			return -ENOMEM;
	return 0;
}

bool modeller_init(struct modeller *m, struct period *period, bool cut)
{
	struct mprof_model_options options = {0};

	/* Without a seed that nobody can know the model is still right. */
	if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
		options.seed = (uintptr_t)m;
	*m = (struct modeller){
		.period = period,
		.cut = cut,
		.sink = {.streams = on_streams, .events = on_events, .data = m},
		.model = mprof_model_new(&options),
	};
	return m->model;
}

void modeller_deinit(struct modeller *m)
{
	unsigned int i;

	for (i = 0; m->names && i < m->streams; i++)
		free(m->names[i]);
	free(m->names);
	m->model = mprof_model_free(m->model);
}

bool modeller_finish(struct modeller *m)
{
	if ((!m->streams && add_streams(m, 1)) || mprof_model_finish(m->model) != MPROF_OK)
		return false;
	m->view = mprof_model_view(m->model);
	return true;
}

json_t *modeller_string(const struct modeller *m, uint32_t i)
{
	const struct mprof_string *s;

	if (i == MPROF_NONE)
		return json_null();
	s = &m->view->strings[i];
	return text_json(s->bytes ? m->view->text + s->offset : "", s->bytes);
}

/* Each text is looked at once, however often it is a label. */
uint8_t *modeller_labelled(const struct modeller *m, const char *glob)
{
	const struct mprof_model_view *v = m->view;
	SCOPED(freep) uint8_t *matches = calloc((size_t)v->n_strings + 1, 1);
	uint8_t *labelled = calloc((size_t)v->n_threads + 1, 1);
	uint32_t i;

	if (!matches || !labelled) {
		free(labelled);
		return NULL;
	}
	for (i = 0; i < v->n_strings; i++) {
		const struct mprof_string *s = &v->strings[i];

		matches[i] = glob_match(glob, s->bytes ? v->text + s->offset : "", s->bytes);
	}
	for (i = 0; i < v->n_labels; i++)
		if (v->labels[i].sample == MPROF_NONE && matches[v->labels[i].text])
			labelled[v->labels[i].thread] = 1;
	return labelled;
}

json_t *modeller_time(uint64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns);
	return json_string(text);
}
