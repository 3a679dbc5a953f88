/*
 * State of a model, shared by the files that build it.
 *
 * model.c owns it. model-events.c adds events. chains.c, tree.c and layout.c finish it, in this
 * order.
 */
#ifndef TRACE_MODEL_STATE_H
#define TRACE_MODEL_STATE_H

#include <mprof/model.h>

#include "grow.h"
#include "map.h"

/* ---- the index of thread ids ---- */

/* Map from a guest's thread ids, any 64-bit numbers, to threads. */
#define INDEX_PAGE_BITS 4u
#define INDEX_PAGE	(1u << INDEX_PAGE_BITS)
#define INDEX_RECENT	64u

/* Threads of INDEX_PAGE consecutive ids. */
struct thread_index_page {
	uint32_t threads[INDEX_PAGE]; /* MPROF_NONE: none */
};

struct thread_index {
	struct map map; /* id / INDEX_PAGE to page */
	struct grow pages;
	struct {
		uint64_t key;
		uint32_t page; /* MPROF_NONE: empty */
	} recent[INDEX_RECENT];
};

/* Return an index, or NULL without memory; free one, which may be NULL, and return NULL. */
struct thread_index *thread_index_new(uint64_t seed);
struct thread_index *thread_index_free(struct thread_index *ix);
/* Reserve room for N more ids. Return false without memory. */
bool thread_index_reserve(struct thread_index *ix, uint32_t n);
/* Return the slot of ID; room was reserved. Valid until the next reservation. */
uint32_t *thread_index_slot(struct thread_index *ix, int64_t id);
uint64_t thread_index_memory(const struct thread_index *ix);

/* ---- the model ---- */

/*
 * Arrays that events fill. model.c has the size of their items and how many an event adds at most.
 */
enum model_array {
	MODEL_THREADS,
	/* For each thread, uint32_t: alias.h; from STAGE_TREE on, all threads depth first. */
	MODEL_ALIASES,
	MODEL_CHECKED, /* for each thread, uint64_t: see model_checked() */
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
	STAGE_ENDS,   /* running threads are closed; ends are not set */
	STAGE_CHAINS, /* ends are set; heads of chains name the newest items */
	STAGE_TREE,   /* chains are made */
	STAGE_LAYOUT, /* the tree is final */
	STAGE_DONE,
};

struct model_stream {
	struct mprof_model_stream seen;
	struct thread_index *index; /* index of its guest, owned by the guest's first stream */
	bool owns_index;
	uint64_t last;	  /* time of the last event */
	uint64_t since;	  /* start of RUNNING's activation */
	uint32_t running; /* thread, or MPROF_NONE */
	uint32_t gap;	  /* gap without an end yet, or MPROF_NONE */
	/* Last signal to RUNNING in this activation, an interaction, or MPROF_NONE. */
	uint32_t signal;
	bool created; /* RUNNING created a thread after SIGNAL */
};

struct mprof_model {
	struct mprof_model_options options;
	struct grow arrays[MODEL_ARRAYS];
	struct grow streams; /* struct model_stream */
	struct grow shown;   /* struct mprof_model_stream, filled at the end */
	struct grow gaps;
	struct grow spare; /* memory that tree.c passes to layout.c */
	struct intern strings;
	struct map counters; /* stream and name to counter */
	struct map scales;
	uint32_t slack; /* number of events that fit before the arrays must grow */
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
 * Return a thread's check time. While events come in: when it was last signalled or tried, 0 for
 * never. After STAGE_CHAINS: when it was first tried while unresolved, UINT64_MAX for never.
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

/* Record the memory held now, EXTRA bytes besides the model's own. */
void model_note_memory(struct mprof_model *m, uint64_t extra);

/* Reserve room for at least one more event in every array. Return false without memory. */
bool model_reserve(struct mprof_model *m);

/*
 * Append a thread with ID in STREAM and no other fields. Return its index. Room was reserved by
 * model_reserve().
 */
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

/*
 * End the activation of S's running thread at TIME, or before, and run THREAD (or MPROF_NONE) from
 * then on.
 */
void model_switch(struct mprof_model *m, struct model_stream *s, uint64_t time, uint32_t thread);

/* Reserve room for one more counter. Return false without memory. */
bool counters_reserve(struct mprof_model *m);

/*
 * Add a sample of the counter NAME (a string) of STREAM, with value NUMBER, or changed by NUMBER
 * when RELATIVE. Return the sample. Room was reserved.
 */
uint32_t counters_add(struct mprof_model *m, uint32_t stream, uint32_t name, const struct mprof_sample *sample,
		      int64_t number, bool relative);

/* Steps of mprof_model_finish(). Return false without memory; then they can be repeated. */
bool model_counters_scale(struct mprof_model *m);
bool model_ends(struct mprof_model *m);
void model_chains(struct mprof_model *m);
bool model_counters_sort(struct mprof_model *m);
bool model_tree(struct mprof_model *m);
bool model_layout(struct mprof_model *m);

#endif
