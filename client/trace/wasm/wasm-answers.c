/* The answers of libmprof as JSON texts, for client/viewer/worker. */
#include <stdlib.h>
#include <string.h>

#include <mprof/why-report.h>

#include "answer-json.h"
#include "wasm.h"

/* A text that grows. */
struct growing {
	char *text; /* owned */
	size_t n, room;
	bool failed;
};

static void put(void *context, const char *text, size_t n)
{
	struct growing *g = context;
	size_t room = g->room ? g->room : 4096;
	char *more;

	while (room - g->n < n)
		room *= 2;
	more = g->failed ? NULL : room == g->room ? g->text : realloc(g->text, room);
	if (!more) {
		g->failed = true;
		return;
	}
	g->text = more;
	g->room = room;
	memcpy(g->text + g->n, text, n);
	g->n += n;
}

/* Return the text of G, terminated, or NULL if the memory was not enough or STATUS is not MPROF_OK. */
static char *taken(struct growing *g, enum mprof_status status)
{
	put(g, "", 1);
	if (!g->failed && status == MPROF_OK)
		return g->text;
	free(g->text);
	return NULL;
}

/* Sum up in R what the loader counted. */
static void add_counts(const struct loader *l, struct mprof_why_report *r)
{
	struct loader_counts counts;

	for (uint32_t i = 0; i < r->view->n_streams; i++) {
		loader_counts(l, i, &counts);
		r->lost_packets += counts.lost_packets;
		r->damages += counts.damages;
		r->unproven_events += counts.unproven;
	}
	for (uint32_t i = 0; i < r->view->n_expectations; i++)
		r->should_resolve += !(r->view->threads[r->view->expectations[i].final].flags & MPROF_THREAD_ROOT);
}

char *wasm_why(const struct loader *l, const struct mprof_why *why, const struct mprof_waits *waits,
	       struct mprof_explanation *explanation, char *const *streams, uint32_t thread)
{
	const struct mprof_waits_group named = {.thread = thread};
	struct mprof_why_report r = {
		.view = mprof_model_view(loader_model(l)),
		.why = why,
		.waits = waits,
		.streams = streams,
		.explanation = explanation,
		.asked = &named,
	};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};
	enum mprof_status status;
	uint32_t all, shown;

	if (waits) {
		r.asked = mprof_waits_groups(waits, &all);
		shown = mprof_waits_shown(waits);
		r.n = shown < MPROF_WHY_ANSWERS_MAX ? shown : MPROF_WHY_ANSWERS_MAX;
		r.left_out = shown - r.n;
	} else {
		r.n = thread < r.view->n_threads;
	}
	add_counts(l, &r);
	mprof_json_open(&j, NULL, '{');
	status = mprof_why_write(&r, &j);
	mprof_json_close(&j, '}');
	return taken(&text, status);
}

char *wasm_thread_story(struct mprof_explanation *explanation, uint32_t thread)
{
	const struct answer_trace t = {.explanation = explanation};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	return taken(&text, answer_put_story(&t, &j, NULL, mprof_explanation_thread(explanation, thread)));
}
