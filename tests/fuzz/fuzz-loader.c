/*
 * Fuzz the loader of traces, used as the viewer uses it. The first byte says into which pieces the
 * input is cut, and which kind of input is announced. The model must be the same as for an input in
 * one piece. Pictures and explanations must refer only to the model's items.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/explanation.h>
#include <mprof/scene.h>
#include <mprof/statistics.h>

#include "fuzz.h"
#include "wasm.h"

/*
 * Load the input in pieces of STEP bytes. Return NULL if the loader asks to read the input again
 * and to hold it.
 */
static struct loader *load(const uint8_t *data, size_t size, size_t step, enum input_kind kind)
{
	struct loader *l = loader_new(&(struct mprof_model_options){.simplify = true, .seed = 7});
	enum mprof_status status;
	size_t at, n;

	require(l != NULL && loader_stream(l, &(struct mprof_model_source){0}, kind) == 0);
	loader_expect(l, 0, size);
	for (at = 0; at < size; at += n) {
		n = size - at < step ? size - at : step;
		memcpy(loader_room(l, 0, n), data + at, n);
		status = loader_came(l, 0, n);
		if (status == MPROF_CORRUPT && kind == INPUT_TWICE)
			return loader_free(l);
		require(status == MPROF_OK);
	}
	require(loader_end(l, 0) == MPROF_OK && loader_finish(l) == MPROF_OK);
	return l;
}

static void same_arrays(const void *a, const void *b, uint32_t n, uint32_t m, size_t bytes)
{
	require(n == m && (!n || memcmp(a, b, n * bytes) == 0));
}

static void check_same(const struct loader *x, const struct loader *y)
{
	const struct mprof_model_view *a = mprof_model_view(loader_model(x)), *b = mprof_model_view(loader_model(y));
	struct loader_counts p, q;

	same_arrays(a->threads, b->threads, a->n_threads, b->n_threads, sizeof(*a->threads));
	same_arrays(a->interactions, b->interactions, a->n_interactions, b->n_interactions, sizeof(*a->interactions));
	same_arrays(a->activations, b->activations, a->n_activations, b->n_activations, sizeof(*a->activations));
	same_arrays(a->labels, b->labels, a->n_labels, b->n_labels, sizeof(*a->labels));
	same_arrays(a->gaps, b->gaps, a->n_gaps, b->n_gaps, sizeof(*a->gaps));
	loader_counts(x, 0, &p);
	loader_counts(y, 0, &q);
	require(memcmp(&p, &q, sizeof(p)) == 0);
}

static void check_explanation(struct mprof_explanation *explanation, const struct mprof_model_view *v,
			      enum mprof_status status)
{
	const struct mprof_explanation_piece *piece;
	uint32_t n, at = 0;

	require(status == MPROF_OK);
	for (piece = mprof_explanation_pieces(explanation, &n); n; n--, piece++) {
		require(piece->offset == at && (piece->thread == MPROF_NONE || piece->thread < v->n_threads));
		at += piece->bytes;
	}
}

static void check_waits(const struct mprof_model_view *v, const struct mprof_why *why,
			struct mprof_explanation *explanation)
{
	struct mprof_waits *waits = mprof_waits_new(v, why);
	const struct mprof_waits_group *groups;
	uint32_t n;

	require(waits != NULL && mprof_waits_shown(waits) <= v->n_threads);
	groups = mprof_waits_groups(waits, &n);
	for (uint32_t i = 0; i < n && i < 5; i++) {
		require(groups[i].threads <= v->n_threads && groups[i].kind < MPROF_WAITS_KINDS);
		check_explanation(explanation, v, mprof_explanation_group(explanation, &groups[i]));
	}
	check_explanation(explanation, v, mprof_explanation_rest(explanation, waits));
	mprof_waits_free(waits);
}

static void check_explanations(const struct mprof_model_view *v)
{
	struct mprof_why *why = mprof_why_new(v);
	struct mprof_explanation *explanation = mprof_explanation_new(v, why, NULL);
	struct mprof_threads *threads = wasm_threads(v, why, NULL);
	char *answer;
	uint32_t i;

	require(why && explanation && threads);
	for (i = 0; i < v->n_threads && i < 20; i++) {
		answer = wasm_thread(threads, explanation, i);
		require(answer && answer[0] == '{' && answer[strlen(answer) - 1] == '}');
		free(answer);
		check_explanation(explanation, v, mprof_explanation_thread(explanation, i));
		check_explanation(explanation, v, mprof_explanation_why(explanation, i));
	}
	check_explanation(explanation, v, mprof_explanation_last(explanation, 0));
	check_waits(v, why, explanation);
	require(mprof_explanation_thread(explanation, v->n_threads) == MPROF_CORRUPT);
	mprof_threads_free(threads);
	mprof_explanation_free(explanation);
	mprof_why_free(why);
}

static void check_numbers(const struct loader *l, const struct mprof_model_view *v)
{
	struct mprof_statistics *n = mprof_statistics_new(v, 0, UINT64_MAX);
	const struct mprof_statistics_totals *all;
	char *answer = wasm_statistics(l, NULL, 0, UINT64_MAX);

	require(n != NULL);
	all = mprof_statistics_totals(n);
	require(all->created + all->preexisting + v->n_streams == v->n_threads && all->collections == v->n_collections);
	require(all->busiest <= MPROF_STATISTICS_BUSIEST);
	mprof_statistics_free(n);
	require(answer && answer[0] == '{' && answer[strlen(answer) - 1] == '}');
	free(answer);
}

/* Draw the whole range, and a range around an event in the middle. */
static void check_scene(const struct mprof_model_view *v)
{
	struct mprof_scene *scene = mprof_scene_new(v);
	struct mprof_window w = {.width = 300, .height = 200, .letter_width = 6, .flags = 7, .focus = v->rows / 2.0};
	struct mprof_picture p;
	uint32_t parts[16], i, k;

	require(scene != NULL);
	for (k = 0; k < 2; k++) {
		w.from = k && v->n_threads ? v->threads[v->n_threads / 2].start : v->streams[0].start;
		w.to = k ? w.from + 1000 : v->streams[0].end + 1;
		if (w.to <= w.from || w.to > MPROF_TIME_MAX)
			continue;
		require(mprof_scene_draw(scene, &w, &p) == MPROF_OK);
		for (i = 0; i < p.n_marks; i++)
			require(p.marks[i].text <= p.text_bytes && p.marks[i].bytes <= p.text_bytes - p.marks[i].text);
		mprof_scene_near(scene, &w, 100, 100, 50);
		mprof_scene_density(scene, w.from, w.to, parts, 16);
	}
	mprof_scene_free(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loader *whole, *cut;
	uint8_t form;

	if (!size)
		return 0;
	form = data[0];
	whole = load(data + 1, size - 1, size, INPUT_FILE);
	cut = load(data + 1, size - 1, form / 4 + 1u,
		   form % 4 == 0   ? INPUT_HELD
		   : form % 4 == 3 ? INPUT_TWICE
				   : INPUT_FILE);
	if (cut)
		check_same(whole, cut);
	check_explanations(mprof_model_view(loader_model(whole)));
	check_numbers(whole, mprof_model_view(loader_model(whole)));
	check_scene(mprof_model_view(loader_model(whole)));
	loader_free(cut);
	loader_free(whole);
	return 0;
}
