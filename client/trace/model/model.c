/*
 * The model: creation, streams, memory, and its view.
 *
 * Invariants:
 * - An event is applied completely or not at all: room for all that it can add is reserved first.
 *   SLACK is the number of events that still have room, so for most events one comparison is
 *   enough.
 * - The index of a thread never changes. A thread's creator has a lower index.
 * - The callers of all static functions have checked stream indices.
 */
#include "model-state.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t size;
	uint32_t per_event;
} kinds[MODEL_ARRAYS] = {
	[MODEL_THREADS] = {sizeof(struct mprof_thread), 2},
	[MODEL_ALIASES] = {sizeof(uint32_t), 2},
	[MODEL_CHECKED] = {sizeof(uint64_t), 2},
	[MODEL_INTERACTIONS] = {sizeof(struct mprof_interaction), 1},
	[MODEL_ACTIVATIONS] = {sizeof(struct mprof_activation), 1},
	[MODEL_LABELS] = {sizeof(struct mprof_label), 1},
	[MODEL_SAMPLES] = {sizeof(struct mprof_sample), 1},
	[MODEL_COUNTERS] = {sizeof(struct mprof_counter), 1},
	[MODEL_SCALES] = {sizeof(struct mprof_scale), 1},
	[MODEL_COLLECTIONS] = {sizeof(struct mprof_collection), 1},
	[MODEL_DURATIONS] = {sizeof(struct mprof_duration), 1},
	[MODEL_EXPECTATIONS] = {sizeof(struct mprof_expectation), 1},
	[MODEL_STATES] = {sizeof(struct mprof_state), 1},
};

/*
 * mprof_model_expect() predicts the final size of an array from at least this share of the input
 * and this number of items, and adds this margin.
 */
#define EXPECT_LEAST  (1.0 / 1024)
#define EXPECT_ITEMS  1024u
#define EXPECT_MARGIN 1.02

/* Smallest number of events for which the arrays reserve room. */
#define SLACK_MIN 64u

struct mprof_model *mprof_model_new(const struct mprof_model_options *options)
{
	struct mprof_model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = *options;
	m->options.seed = map_mix((uintptr_t)m, options->seed);
	intern_init(&m->strings, m->options.seed);
	map_init(&m->counters, m->options.seed);
	map_init(&m->scales, m->options.seed);
	map_init(&m->sampled, m->options.seed);
	return m;
}

struct mprof_model *mprof_model_free(struct mprof_model *m)
{
	if (!m)
		return NULL;
	for (uint32_t i = 0; i < m->streams.n; i++)
		if (model_stream_at(m, i)->owns_index)
			thread_index_free(model_stream_at(m, i)->index);
	for (uint32_t i = 0; i < MODEL_ARRAYS; i++)
		grow_deinit(&m->arrays[i]);
	grow_deinit(&m->streams);
	grow_deinit(&m->shown);
	grow_deinit(&m->gaps);
	grow_deinit(&m->pieces);
	grow_deinit(&m->spare);
	intern_deinit(&m->strings);
	map_deinit(&m->counters);
	map_deinit(&m->scales);
	map_deinit(&m->sampled);
	free(m);
	return NULL;
}

bool model_reserve(struct mprof_model *m)
{
	uint32_t slack = UINT32_MAX, fits;

	for (uint32_t i = 0; i < MODEL_ARRAYS; i++) {
		struct grow *g = &m->arrays[i];

		if (g->room - g->n < SLACK_MIN * kinds[i].per_event &&
		    !grow_reserve(g, kinds[i].size, SLACK_MIN * kinds[i].per_event))
			return false;
		fits = (g->room - g->n) / kinds[i].per_event;
		slack = fits < slack ? fits : slack;
	}
	m->slack = slack;
	return true;
}

/*
 * Return the index of the thread ids of GUEST: the index of another stream of the guest, or if
 * there is none a new one, with *OWNS set. Return NULL without memory.
 */
static struct thread_index *index_of(const struct mprof_model *m, uint32_t guest, bool *owns)
{
	*owns = false;
	for (uint32_t i = 0; i < m->streams.n; i++)
		if (model_stream_at(m, i)->seen.guest == guest)
			return model_stream_at(m, i)->index;
	*owns = true;
	return thread_index_new(m->options.seed);
}

static uint32_t root_add(struct mprof_model *m, uint32_t stream)
{
	uint32_t root = model_thread_take(m, stream, MPROF_THREAD_NONE);

	model_thread(m, root)->flags = MPROF_THREAD_ROOT | MPROF_THREAD_PREEXISTING;
	return root;
}

enum mprof_status mprof_model_stream(struct mprof_model *m, const struct mprof_model_source *source, uint32_t *stream)
{
	struct model_stream s = {.running = MPROF_NONE, .gap = MPROF_NONE, .signal = MPROF_NONE, .starter = MPROF_NONE};

	if (m->stage != STAGE_OPEN)
		return MPROF_END;
	if (m->streams.n >= UINT16_MAX || !grow_reserve(&m->streams, sizeof(s), 1) || (!m->slack && !model_reserve(m)))
		return MPROF_NOMEM;
	s.index = index_of(m, source->guest, &s.owns_index);
	if (!s.index)
		return MPROF_NOMEM;
	m->slack--;
	s.seen = (struct mprof_model_stream){
		.offset_ns = source->offset_ns,
		.uncertainty_ns = source->uncertainty_ns,
		.guest = source->guest,
		.root = root_add(m, m->streams.n),
		.first_signal = UINT64_MAX,
		.first_read = UINT64_MAX,
		.first_resolve = UINT64_MAX,
		.running = MPROF_NONE,
		.silent = MPROF_NONE,
	};
	*stream = m->streams.n;
	*(struct model_stream *)grow_take(&m->streams, sizeof(s)) = s;
	return MPROF_OK;
}

enum mprof_status mprof_model_packet(struct mprof_model *m, uint32_t stream, uint16_t count)
{
	struct model_stream *s;

	if (m->stage != STAGE_OPEN)
		return MPROF_END;
	if (stream >= m->streams.n)
		return MPROF_CORRUPT;
	s = model_stream_at(m, stream);
	if (!s->seen.events) {
		s->counted = true;
		s->first_count = count;
	}
	return MPROF_OK;
}

enum mprof_status mprof_model_gap(struct mprof_model *m, uint32_t stream, uint64_t packets)
{
	struct model_stream *s;
	struct mprof_gap *gap;

	if (m->stage != STAGE_OPEN)
		return MPROF_END;
	if (stream >= m->streams.n)
		return MPROF_CORRUPT;
	if (!grow_reserve(&m->gaps, sizeof(*gap), 1) || (!m->slack && !model_reserve(m)))
		return MPROF_NOMEM;
	m->slack--;
	s = model_stream_at(m, stream);
	if (s->gap != MPROF_NONE) { /* no event came since the last gap: extend that gap */
		((struct mprof_gap *)m->gaps.items + s->gap)->packets += packets;
		return MPROF_OK;
	}
	model_switch(m, s, s->last, MPROF_NONE);
	gap = grow_take(&m->gaps, sizeof(*gap));
	*gap = (struct mprof_gap){.from = s->last, .to = s->last, .packets = packets, .stream = stream};
	s->gap = m->gaps.n - 1;
	return MPROF_OK;
}

void mprof_model_expect(struct mprof_model *m, double share)
{
	double more;

	for (uint32_t i = 0; i < MODEL_ARRAYS && m->stage == STAGE_OPEN && share >= EXPECT_LEAST && share < 1; i++) {
		more = m->arrays[i].n * (1 / share - 1) * EXPECT_MARGIN;
		/* This may fail: without this room the array grows with the events. */
		if (m->arrays[i].n >= EXPECT_ITEMS && more < UINT32_MAX / 2)
			grow_expect(&m->arrays[i], kinds[i].size, (uint32_t)more);
	}
}

static uint64_t held(const struct mprof_model *m)
{
	uint64_t bytes = sizeof(*m) + (uint64_t)m->streams.room * sizeof(struct model_stream);

	for (uint32_t i = 0; i < MODEL_ARRAYS; i++)
		bytes += (uint64_t)m->arrays[i].room * kinds[i].size;
	for (uint32_t i = 0; i < m->streams.n; i++)
		if (model_stream_at(m, i)->owns_index)
			bytes += thread_index_memory(model_stream_at(m, i)->index);
	bytes += m->spare.held + (uint64_t)m->shown.room * sizeof(struct mprof_model_stream);
	bytes += (uint64_t)m->gaps.room * sizeof(struct mprof_gap);
	bytes += (uint64_t)m->pieces.room * sizeof(struct mprof_piece);
	bytes += (uint64_t)m->strings.list.room * sizeof(struct mprof_string) + m->strings.arena.room;
	bytes += ((uint64_t)m->strings.map.room + m->counters.room + m->scales.room + m->sampled.room) *
		 sizeof(struct map_entry);
	return bytes;
}

void model_note_memory(struct mprof_model *m, uint64_t extra)
{
	uint64_t now = held(m) + extra;

	m->most_memory = now > m->most_memory ? now : m->most_memory;
}

void mprof_model_memory(const struct mprof_model *m, uint64_t *now, uint64_t *most)
{
	*now = held(m);
	*most = *now > m->most_memory ? *now : m->most_memory;
}

/* Free what only adding events needs. */
static void free_input_state(struct mprof_model *m)
{
	model_note_memory(m, 0);
	map_deinit(&m->strings.map);
	map_deinit(&m->counters);
	map_deinit(&m->scales);
	map_deinit(&m->sampled);
	for (uint32_t i = 0; i < m->streams.n; i++) {
		struct model_stream *s = model_stream_at(m, i);

		if (s->owns_index)
			thread_index_free(s->index);
		s->owns_index = false;
		s->index = NULL;
	}
	grow_trim(&m->strings.arena, 1);
	grow_trim(&m->strings.list, sizeof(struct mprof_string));
	for (uint32_t i = 0; i < MODEL_ARRAYS; i++)
		grow_trim(&m->arrays[i], kinds[i].size);
}

static void show(struct mprof_model *m)
{
	const struct grow *a = m->arrays;

	m->notes.texts_lost = m->strings.lost;
	m->view = (struct mprof_model_view){
		.threads = a[MODEL_THREADS].items,
		.interactions = a[MODEL_INTERACTIONS].items,
		.activations = a[MODEL_ACTIVATIONS].items,
		.labels = a[MODEL_LABELS].items,
		.samples = a[MODEL_SAMPLES].items,
		.counters = a[MODEL_COUNTERS].items,
		.scales = a[MODEL_SCALES].items,
		.collections = a[MODEL_COLLECTIONS].items,
		.durations = a[MODEL_DURATIONS].items,
		.pieces = m->pieces.items,
		.gaps = m->gaps.items,
		.expectations = a[MODEL_EXPECTATIONS].items,
		.streams = m->shown.items,
		.strings = m->strings.list.items,
		.text = m->strings.arena.items,
		.n_threads = a[MODEL_THREADS].n,
		.n_interactions = a[MODEL_INTERACTIONS].n,
		.n_activations = a[MODEL_ACTIVATIONS].n,
		.n_labels = a[MODEL_LABELS].n,
		.n_samples = a[MODEL_SAMPLES].n,
		.n_counters = a[MODEL_COUNTERS].n,
		.n_scales = a[MODEL_SCALES].n,
		.n_collections = a[MODEL_COLLECTIONS].n,
		.n_durations = a[MODEL_DURATIONS].n,
		.n_pieces = m->pieces.n,
		.n_gaps = m->gaps.n,
		.n_expectations = a[MODEL_EXPECTATIONS].n,
		.n_streams = m->shown.n,
		.n_strings = m->strings.list.n,
		.rows = m->view.rows,
		.text_bytes = m->strings.arena.n,
		.notes = m->notes,
		.states = a[MODEL_STATES].items,
		.n_states = a[MODEL_STATES].n,
	};
}

/* Close the activations that last to the end of the trace. */
static bool close_running(struct mprof_model *m)
{
	for (uint32_t i = 0; i < m->streams.n; i++) {
		struct model_stream *s = model_stream_at(m, i);

		if (!m->slack && !model_reserve(m))
			return false;
		m->slack--;
		s->seen.running = s->running;
		s->seen.since = s->running == MPROF_NONE ? 0 : s->since;
		/* If the clock went back, the trace ends at the time of the last event. */
		model_switch(m, s, s->seen.back_ns > MPROF_MODEL_STEP ? s->last : s->seen.end, MPROF_NONE);
	}
	return true;
}

/* Note in each stream a thread that never ran, as far as the model knows. */
static void find_silent(struct mprof_model *m)
{
	for (uint32_t i = model_count(m, MODEL_THREADS); i-- > 0;) {
		const struct mprof_thread *t = model_thread(m, i);

		if (t->type == MPROF_THREAD_Task && t->first_activation == MPROF_NONE &&
		    !(t->flags & MPROF_THREAD_RESOLVED) &&
		    !(model_stream_at(m, t->stream)->seen.declares & MPROF_DECLARES_LOOKED))
			model_stream_at(m, t->stream)->seen.silent = i;
	}
}

/* Find out which streams whose writers declare nothing have their beginning. */
static void find_begins(struct mprof_model *m)
{
	for (uint32_t i = 0; i < m->streams.n; i++) {
		struct model_stream *s = model_stream_at(m, i);

		if (s->seen.events && s->counted && !(s->seen.declares & MPROF_DECLARES_KINDS))
			s->seen.begin = s->first_count ? MPROF_BEGIN_LATER : MPROF_BEGIN_FIRST;
	}
	for (uint32_t i = 0; i < model_count(m, MODEL_THREADS); i++) {
		const struct mprof_thread *t = model_thread(m, i);
		struct model_stream *s = model_stream_at(m, t->stream);

		if ((t->flags & MPROF_THREAD_PREEXISTING) && !(t->flags & MPROF_THREAD_ROOT) && !MPROF_IS_VCPU(t->id) &&
		    !(s->seen.declares & MPROF_DECLARES_KINDS) && !(s->counted && i == s->starter))
			s->seen.begin = MPROF_BEGIN_LATER;
	}
}

static bool show_streams(struct mprof_model *m)
{
	find_silent(m);
	find_begins(m);
	if (!grow_reserve(&m->shown, sizeof(struct mprof_model_stream), m->streams.n))
		return false;
	m->shown.n = 0;
	for (uint32_t i = 0; i < m->streams.n; i++)
		*(struct mprof_model_stream *)grow_take(&m->shown, sizeof(struct mprof_model_stream)) =
			model_stream_at(m, i)->seen;
	return true;
}

enum mprof_status mprof_model_finish(struct mprof_model *m)
{
	if (m->stage == STAGE_OPEN && close_running(m))
		m->stage = STAGE_ENDS;
	if (m->stage == STAGE_ENDS && model_ends(m)) {
		free_input_state(m);
		m->stage = STAGE_CHAINS;
	}
	if (m->stage == STAGE_CHAINS && model_counters_sort(m)) {
		model_chains(m);
		m->stage = STAGE_TREE;
	}
	if (m->stage == STAGE_TREE && model_tree(m)) {
		grow_deinit(&m->arrays[MODEL_CHECKED]);
		m->stage = STAGE_LAYOUT;
	}
	if (m->stage == STAGE_LAYOUT && model_layout(m) && model_durations(m) && show_streams(m)) {
		grow_deinit(&m->arrays[MODEL_ALIASES]);
		m->stage = STAGE_UNSEEN;
		show(m);
	}
	if (m->stage == STAGE_UNSEEN && model_unseen(m))
		m->stage = STAGE_DONE;
	return m->stage == STAGE_DONE ? MPROF_OK : MPROF_NOMEM;
}

const struct mprof_model_view *mprof_model_view(const struct mprof_model *m)
{
	return m->stage == STAGE_DONE ? &m->view : NULL;
}

/* ---- the index of thread ids ---- */

/*
 * Index of thread ids.
 *
 * A recorder counts ids up, so threads of one moment have neighbouring ids. A page of sixteen ids
 * is one cache line, and a cache remembers recent pages, so the map is asked about once in sixteen
 * threads. Crafted ids, each in a page of its own, cost 64 bytes each, and one step in a seeded map
 * for each event that names them.
 */

struct thread_index *thread_index_new(uint64_t seed)
{
	struct thread_index *ix = calloc(1, sizeof(*ix));

	if (!ix)
		return NULL;
	map_init(&ix->map, seed);
	for (size_t i = 0; i < INDEX_RECENT; i++)
		ix->recent[i].page = MPROF_NONE;
	return ix;
}

struct thread_index *thread_index_free(struct thread_index *ix)
{
	if (!ix)
		return NULL;
	map_deinit(&ix->map);
	grow_deinit(&ix->pages);
	free(ix);
	return NULL;
}

bool thread_index_reserve(struct thread_index *ix, uint32_t n)
{
	return (ix->pages.room - ix->pages.n >= n || grow_reserve(&ix->pages, sizeof(struct thread_index_page), n)) &&
	       map_reserve(&ix->map, n);
}

static uint32_t page_of(struct thread_index *ix, uint64_t key)
{
	uint32_t page = map_get(&ix->map, key);

	if (page != MPROF_NONE)
		return page;
	memset(grow_take(&ix->pages, sizeof(struct thread_index_page)), 0xff, sizeof(struct thread_index_page));
	page = ix->pages.n - 1;
	map_put(&ix->map, key, page);
	return page;
}

uint32_t *thread_index_slot(struct thread_index *ix, int64_t id)
{
	uint64_t key = (uint64_t)id >> INDEX_PAGE_BITS;
	size_t at = key % INDEX_RECENT;

	if (ix->recent[at].page == MPROF_NONE || ix->recent[at].key != key) {
		ix->recent[at].page = page_of(ix, key);
		ix->recent[at].key = key;
	}
	return &((struct thread_index_page *)ix->pages.items)[ix->recent[at].page].threads[(uint64_t)id % INDEX_PAGE];
}

uint64_t thread_index_memory(const struct thread_index *ix)
{
	return sizeof(*ix) + (uint64_t)ix->pages.room * sizeof(struct thread_index_page) +
	       (uint64_t)ix->map.room * sizeof(struct map_entry);
}
