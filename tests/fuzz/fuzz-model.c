/*
 * Fuzz the model with any events. The first byte says whether binds are simplified, how many
 * streams there are, and what the other bytes are: a trace for the decoder, or events of a few
 * bytes each, whose threads meet more often. The model must be consistent: each index is valid;
 * each thread is in the tree once and has a row; each list is in order; memory is proportional to
 * the input.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/cause.h>
#include <mprof/why-report.h>

#include "fuzz-input.h"

/* Return a number. Most numbers are small. */
static int64_t number(struct input *in)
{
	uint8_t first = take(in);
	uint64_t value = 0;
	int i;

	if (first < 240)
		return (int64_t)(first % 40) - 1;
	for (i = 0; i < 8; i++)
		value = value << 8 | take(in);
	return (int64_t)value;
}

static void short_event(struct input *in, struct mprof_raw_event *e)
{
	static const char *const texts[] = {"__should_resolve", "a", "a#1", "a#2", "", "tcp-ackd-segs", "tcp-to-ip"};
	uint8_t kind = take(in);

	*e = (struct mprof_raw_event){.id = kind % MPROF_EVENT_IDS};
	in->time += kind / 32 * (uint64_t)(kind / 32);
	e->timestamp = kind == 255 ? (uint64_t)number(in) : in->time;
	e->context = number(in);
	if (e->id != MPROF_EVENT_switch && e->id != MPROF_EVENT_label)
		e->number = number(in);
	if (e->id == MPROF_EVENT_creates)
		e->type = (uint8_t)(take(in) % 22);
	if (e->id == MPROF_EVENT_label || e->id == MPROF_EVENT_fails || e->id == MPROF_EVENT_increase ||
	    e->id == MPROF_EVENT_counter) {
		e->text = texts[take(in) % (sizeof(texts) / sizeof(texts[0]))];
		e->text_bytes = strlen(e->text);
	}
}

static void add_short(struct mprof_model *m, struct input *in, uint32_t streams)
{
	struct mprof_raw_event e;
	uint32_t s = 0;

	while (in->left) {
		if (streams > 1)
			s = take(in) % streams;
		short_event(in, &e);
		require(mprof_model_add(m, s, &e) == MPROF_OK);
		if (e.id == MPROF_EVENT_gc && e.number == 0)
			require(mprof_model_gap(m, s, 1) == MPROF_OK);
	}
}

static void add_trace(struct mprof_model *m, struct input *in, uint32_t streams)
{
	struct mprof_decoder *d = mprof_decoder_new();
	enum mprof_status status;
	struct mprof_event event;
	uint32_t next = 0;

	require(d != NULL);
	mprof_decoder_feed(d, in->p, in->left);
	mprof_decoder_finish(d);
	while ((status = mprof_decoder_next(d, &event)) != MPROF_END) {
		if (status == MPROF_OK) {
			require(mprof_model_add(m, next, &event.raw) == MPROF_OK);
			next = next + 1 < streams ? next + 1 : 0;
		} else {
			require(mprof_model_gap(m, 0, 1) == MPROF_OK);
		}
	}
	mprof_decoder_free(d);
}

static void check_thread(const struct mprof_model_view *v, uint32_t i)
{
	const struct mprof_thread *t = &v->threads[i];
	int root = (t->flags & MPROF_THREAD_ROOT) != 0;

	require(t->start <= t->end && t->end <= MPROF_TIME_MAX && t->stream < v->n_streams);
	require(root == (t->parent == MPROF_NONE) && root == (t->row == MPROF_NONE) &&
		root == (t->creator == MPROF_NONE));
	require(root || (t->parent < v->n_threads && t->creator < i && t->row < v->rows));
	require(t->becomes == MPROF_NONE || (t->becomes < v->n_threads && t->becomes != i));
	require(t->resolver == MPROF_NONE || t->resolver < v->n_threads);
	require(t->failure == MPROF_NONE || t->failure < v->n_strings);
}

/* Check that each thread but the roots is in the list of its parent's children, exactly once. */
static void check_tree(const struct mprof_model_view *v)
{
	uint32_t i, child, seen = 0;

	for (i = 0; i < v->n_threads; i++) {
		check_thread(v, i);
		for (child = v->threads[i].first_child; child != MPROF_NONE; child = v->threads[child].next_sibling) {
			require(child < v->n_threads && v->threads[child].parent == i);
			require(++seen < v->n_threads);
		}
	}
	require(seen + v->n_streams == v->n_threads);
}

/*
 * Check that the parents of each thread lead to a root and not into a cycle. MARKS has the number
 * of the walk that first came to a thread.
 */
static void check_roots(const struct mprof_model_view *v)
{
	uint32_t *marks = calloc(v->n_threads + 1, sizeof(*marks)), i, at;

	require(marks != NULL);
	for (i = 0; i < v->n_threads; i++) {
		for (at = i; v->threads[at].parent != MPROF_NONE && !marks[at]; at = v->threads[at].parent)
			marks[at] = i + 1;
		require(v->threads[at].parent == MPROF_NONE || marks[at] != i + 1);
	}
	free(marks);
}

static void check_chains(const struct mprof_model_view *v)
{
	uint32_t i, at, labels = 0, interactions = 0, activations = 0;

	for (i = 0; i < v->n_threads; i++) {
		const struct mprof_thread *t = &v->threads[i];

		for (at = t->first_label; at != MPROF_NONE; at = v->labels[at].next, labels++)
			require(at < v->n_labels && v->labels[at].thread == i && v->labels[at].text < v->n_strings);
		for (at = t->first_interaction; at != MPROF_NONE; at = v->interactions[at].next, interactions++)
			require(at < v->n_interactions && v->interactions[at].thread == i &&
				v->interactions[at].other < v->n_threads &&
				v->interactions[at].kind <= MPROF_INTERACTION_SIGNAL);
		for (at = t->first_activation; at != MPROF_NONE; at = v->activations[at].next, activations++)
			require(at < v->n_activations && v->activations[at].thread == i &&
				v->activations[at].start <= v->activations[at].end);
	}
	require(labels == v->n_labels && interactions == v->n_interactions && activations == v->n_activations);
}

static void check_counters(const struct mprof_model_view *v)
{
	uint32_t i, at, n = 0;

	for (i = 0; i < v->n_counters; i++) {
		const struct mprof_counter *c = &v->counters[i];
		const struct mprof_scale *scale = &v->scales[c->scale];

		require(c->scale < v->n_scales && c->name < v->n_strings && c->samples > 0);
		require(scale->min <= c->min && scale->max >= c->max && scale->min <= 0 && scale->max >= 0);
		for (at = c->first; at != MPROF_NONE; at = v->samples[at].next, n++)
			require(at < v->n_samples && v->samples[at].counter == i && v->samples[at].value >= c->min &&
				v->samples[at].value <= c->max);
	}
	require(n == v->n_samples);
}

static void check_texts(const struct mprof_model_view *v)
{
	uint32_t i;
	char text[64];

	for (i = 0; i < v->n_strings; i++)
		require(v->strings[i].offset <= v->text_bytes &&
			v->strings[i].bytes <= v->text_bytes - v->strings[i].offset);
	for (i = 0; i < v->n_labels; i++)
		require(mprof_label_text(v, i, text, sizeof(text)) >= strlen(text));
}

static void check_cause(const struct mprof_model_view *v, const struct mprof_why *w)
{
	struct mprof_cause c;

	require(mprof_cause_find(v, w, &c) == MPROF_OK);
	require((c.thread == MPROF_NONE) == (c.kind == MPROF_CAUSE_NONE));
	require(c.thread == MPROF_NONE || c.thread < v->n_threads);
	require(c.bytes < MPROF_CAUSE_BYTES && strlen(c.text) == c.bytes);
}

/*
 * Check that the links of each answer lead to the answer's root, and around its cycle. Ask for a
 * few threads only, because each answer counts all signals.
 */
static void put_nothing(void *context, const char *text, size_t n)
{
	(void)context;
	require(text && n);
}

/* Write the answer about the first threads, with sentences. */
static void check_report(const struct mprof_model_view *v, const struct mprof_why *w)
{
	struct mprof_explanation *e = mprof_explanation_new(v, w, NULL);
	struct mprof_waits_group asked[4] = {0};
	const struct mprof_why_report report = {
		.view = v, .why = w, .explanation = e, .asked = asked, .n = v->n_threads < 4 ? v->n_threads : 4};
	struct mprof_json j = {.put = put_nothing, .shown = true};

	for (uint32_t i = 0; i < report.n; i++)
		asked[i].thread = i;
	mprof_json_open(&j, NULL, '{');
	if (e)
		require(mprof_why_write(&report, &j) == MPROF_OK);
	mprof_json_close(&j, '}');
	require(!j.depth);
	mprof_explanation_free(e);
}

static void check_why(const struct mprof_model_view *v)
{
	struct mprof_why *w = mprof_why_new(v);
	struct mprof_why_answer a;
	uint32_t i, k, t;

	require(w != NULL);
	check_cause(v, w);
	for (i = 0; i < v->n_threads && i < 200; i++) {
		mprof_why_ask(w, i, &a);
		require(a.thread < v->n_threads && a.root < v->n_threads && a.links < v->n_threads);
		for (t = a.thread, k = 0; k < a.links + a.cycle; k++) {
			require((t == a.root) == (k == a.links));
			t = mprof_why_final(w, v->interactions[mprof_why_link(w, t)].other);
		}
		require(t == a.root);
		k = mprof_why_label(w, i, v->threads[i].start);
		/* A wait that a place in the code has created has the label of the place. */
		require(k == MPROF_NONE || v->labels[k].thread == i || v->labels[k].thread == v->threads[i].creator);
	}
	for (i = 0; i < v->n_streams; i++)
		require(mprof_why_last(w, i, true) == MPROF_NONE || mprof_why_last(w, i, false) != MPROF_NONE);
	check_report(v, w);
	mprof_why_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size, 1000};
	uint8_t form = take(&in);
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = form & 1, .seed = form});
	uint32_t streams = 1 + (form >> 1) % 3, i, got;
	uint64_t now, most;

	require(m != NULL);
	for (i = 0; i < streams; i++)
		require(mprof_model_stream(m, &(struct mprof_model_source){.guest = i / 2}, &got) == MPROF_OK &&
			got == i);
	if (form & 0x80)
		add_trace(m, &in, streams);
	else
		add_short(m, &in, streams);
	require(mprof_model_finish(m) == MPROF_OK);
	mprof_model_memory(m, &now, &most);
	require(most < 200000 + 1000 * (uint64_t)size);
	check_tree(mprof_model_view(m));
	check_roots(mprof_model_view(m));
	check_chains(mprof_model_view(m));
	check_counters(mprof_model_view(m));
	check_texts(mprof_model_view(m));
	check_why(mprof_model_view(m));
	mprof_model_free(m);
	return 0;
}
