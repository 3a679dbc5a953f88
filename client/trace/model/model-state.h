/*
 * The inside of a model, shared by the files that build one.
 *
 * Order of use: model.c owns it, model-events.c fills it event by event, and finishes it by chains.c, tree.c and
 * layout.c.
 */
#ifndef TRACE_MODEL_STATE_H
#define TRACE_MODEL_STATE_H

#include <mprof/model.h>

#include "grow.h"
#include "map.h"

/* ---- the index of thread ids ---- */

/* From a guest's thread ids, any 64-bit numbers, to threads. */
#define INDEX_PAGE_BITS 4u
#define INDEX_PAGE	(1u << INDEX_PAGE_BITS)
#define INDEX_RECENT	64u

/* The threads of so many ids that follow each other. */
struct thread_index_page {
	uint32_t threads[INDEX_PAGE]; /* MPROF_NONE: none yet */
};

struct thread_index {
	struct map map; /* id / INDEX_PAGE to page */
	struct grow pages;
	struct {
		uint64_t key;
		uint32_t page; /* MPROF_NONE: empty */
	} recent[INDEX_RECENT];
};

/* NULL without memory. */
struct thread_index *thread_index_new(uint64_t seed);
struct thread_index *thread_index_free(struct thread_index *ix);
/* Room for N ids more, whatever they are; false without memory. */
bool thread_index_reserve(struct thread_index *ix, uint32_t n);
/* Where the thread of ID stands; room was reserved.  Lent until the next reservation. */
uint32_t *thread_index_slot(struct thread_index *ix, int64_t id);
uint64_t thread_index_memory(const struct thread_index *ix);

/* ---- the model ---- */

/* The arrays that events fill.  The sizes of their items, and how many one event adds at most, stand in model.c. */
enum model_array {
	MODEL_THREADS,
	MODEL_ALIASES, /* per thread, uint32_t: alias.h; from STAGE_TREE on all threads, depth first */
	MODEL_CHECKED, /* per thread, uint64_t: see below */
	MODEL_INTERACTIONS,
	MODEL_ACTIVATIONS,
	MODEL_LABELS,
	MODEL_SAMPLES,
	MODEL_COUNTERS,
	MODEL_SCALES,
	MODEL_COLLECTIONS,
	MODEL_EXPECTATIONS,
	MODEL_ARRAYS,
};

enum model_stage {
	STAGE_OPEN,
	STAGE_ENDS,   /* what ran is closed; the ends are not set */
	STAGE_CHAINS, /* the ends are set; chains run from the newest */
	STAGE_TREE,   /* the chains are made */
	STAGE_LAYOUT, /* the tree is final */
	STAGE_DONE,
};

struct model_stream {
	struct mprof_model_stream seen;
	struct thread_index *index; /* its guest's, owned by the first stream that has it */
	bool owns_index;
	uint64_t last;	  /* time of the last event */
	uint64_t since;	  /* RUNNING has run since then */
	uint32_t running; /* thread, or MPROF_NONE */
	uint32_t gap;	  /* a gap whose end is not known yet, or MPROF_NONE */
	uint32_t signal;  /* the interaction by which RUNNING was signalled last in this activation, or MPROF_NONE */
	bool created;	  /* RUNNING has created a thread since SIGNAL */
};

struct mprof_model {
	struct mprof_model_options options;
	struct grow arrays[MODEL_ARRAYS];
	struct grow streams; /* struct model_stream */
	struct grow shown;   /* struct mprof_model_stream, filled at the end */
	struct grow gaps;
	struct grow spare; /* memory that tree.c had, for layout.c */
	struct intern strings;
	struct map counters; /* stream and name to counter */
	struct map scales;
	uint32_t slack; /* so many events fit before the arrays must be looked at */
	enum model_stage stage;
	uint64_t most_memory;
	struct mprof_model_notes notes;
	struct mprof_model_view view;
};

static inline struct mprof_thread *model_thread(const struct mprof_model *m, uint32_t i)
{
	return (struct mprof_thread *)m->arrays[MODEL_THREADS].items + i;
}

/*
 * While events come in: when the thread was last signalled or looked at, 0 for never.  Behind STAGE_CHAINS: when it was
 * first looked at while unresolved, UINT64_MAX for never.
 */
static inline uint64_t *model_checked(const struct mprof_model *m, uint32_t i)
{
	return (uint64_t *)m->arrays[MODEL_CHECKED].items + i;
}

static inline uint32_t *model_aliases(const struct mprof_model *m)
{
	return m->arrays[MODEL_ALIASES].items;
}

static inline struct model_stream *model_stream_at(const struct mprof_model *m, uint32_t i)
{
	return (struct model_stream *)m->streams.items + i;
}

static inline uint32_t model_count(const struct mprof_model *m, enum model_array array)
{
	return m->arrays[array].n;
}

/* Note how much memory is held now, EXTRA bytes besides the model's own. */
void model_note_memory(struct mprof_model *m, uint64_t extra);

/* Room for at least one more event in every array; false without memory. */
bool model_reserve(struct mprof_model *m);

/* A thread of ID in STREAM, of which nothing is known yet: its place.  There is room, as after model_reserve(). */
static inline uint32_t model_thread_take(struct mprof_model *m, uint32_t stream, int64_t id)
{
	uint32_t i = m->arrays[MODEL_THREADS].n;

	*(struct mprof_thread *)grow_take(&m->arrays[MODEL_THREADS], sizeof(struct mprof_thread)) =
		(struct mprof_thread){
			.id = id,
			.creator = MPROF_NONE,
			.parent = MPROF_NONE,
			.becomes = MPROF_NONE,
			.resolver = MPROF_NONE,
			.first_child = MPROF_NONE,
			.next_sibling = MPROF_NONE,
			.first_label = MPROF_NONE,
			.first_interaction = MPROF_NONE,
			.first_activation = MPROF_NONE,
			.failure = MPROF_NONE,
			.row = MPROF_NONE,
			.stream = (uint16_t)stream,
			.type = MPROF_THREAD_UNKNOWN,
		};
	*(uint32_t *)grow_take(&m->arrays[MODEL_ALIASES], sizeof(uint32_t)) = i;
	*(uint64_t *)grow_take(&m->arrays[MODEL_CHECKED], sizeof(uint64_t)) = 0;
	return i;
}

/* Let what ran in S run up to TIME at most, and THREAD (or MPROF_NONE) run from then on. */
void model_switch(struct mprof_model *m, struct model_stream *s, uint64_t time, uint32_t thread);

/* Room for a counter more in the tables; false without memory. */
bool counters_reserve(struct mprof_model *m);

/*
 * Add a sample of the counter NAME (a string) of STREAM: NUMBER is its value, or with RELATIVE what it changed by.  Returns the sample.
 * Room was reserved.
 */
uint32_t counters_add(struct mprof_model *m, uint32_t stream, uint32_t name, const struct mprof_sample *sample,
		      int64_t number, bool relative);

/* The steps of mprof_model_finish(); false without memory, and then they can be repeated. */
bool model_counters_scale(struct mprof_model *m);
bool model_ends(struct mprof_model *m);
void model_chains(struct mprof_model *m);
bool model_counters_sort(struct mprof_model *m);
bool model_tree(struct mprof_model *m);
bool model_layout(struct mprof_model *m);

#endif
