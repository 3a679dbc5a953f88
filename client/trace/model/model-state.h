/*
 * State of a model, shared by the files that build it.
 *
 * model.c owns it. model-events.c adds events. chains.c, thread-tree.c and layout.c finish it, in this
 * order.
 */
#ifndef TRACE_MODEL_STATE_H
#define TRACE_MODEL_STATE_H

#include <mprof/model.h>
#include <mprof/times.h>

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
	struct map map; /* from id / INDEX_PAGE to the page's index in PAGES */
	struct grow pages;
	struct {
		uint64_t key;
		uint32_t page; /* MPROF_NONE: empty */
	} recent[INDEX_RECENT];
};

/*
 * thread_index_new() returns an empty index, or NULL without memory. thread_index_free() frees IX,
 * which may be NULL, and returns NULL.
 */
struct thread_index *thread_index_new(uint64_t seed);
struct thread_index *thread_index_free(struct thread_index *ix);
/* Reserve room for N more ids. Return false without memory. */
bool thread_index_reserve(struct thread_index *ix, uint32_t n);
/*
 * Return the slot of ID: the place of its thread's index, MPROF_NONE for a new id. The caller has
 * reserved room. Valid until the next reservation.
 */
uint32_t *thread_index_slot(struct thread_index *ix, int64_t id);
uint64_t thread_index_memory(const struct thread_index *ix);

/* ---- the model ---- */

/*
 * Arrays that events fill. KINDS in model.c has the size of their items, and the number of items
 * that one event adds at most.
 */
enum model_array {
	MODEL_THREADS,
	/*
	 * uint32_t for each thread: its alias (alias.h); when the tree is made, a list of all
	 * threads in the order depth first.
	 */
	MODEL_ALIASES,
	MODEL_CHECKED, /* uint64_t for each thread: see model_checked() */
	MODEL_INTERACTIONS,
	MODEL_ACTIVATIONS,
	MODEL_LABELS,
	MODEL_SAMPLES,
	MODEL_COUNTERS,
	MODEL_SCALES,
	MODEL_COLLECTIONS,
	MODEL_DURATIONS,
	MODEL_EXPECTATIONS,
	MODEL_STATES,
	MODEL_ARRAYS,
};

enum model_stage {
	STAGE_OPEN,
	STAGE_ENDS,   /* the activations of running threads are closed; ends are not set */
	STAGE_CHAINS, /* ends are set; the first_* fields of threads still name the newest items */
	STAGE_TREE,   /* the chains of labels, interactions and activations are made */
	STAGE_LAYOUT, /* the tree is final */
	STAGE_UNSEEN, /* the view is final, but for the flag MPROF_THREAD_END_UNSEEN */
	STAGE_DONE,
};

struct model_stream {
	struct mprof_model_stream seen;
	struct thread_index *index; /* index of its guest, owned by the guest's first stream */
	bool owns_index;
	uint64_t last;		      /* time of the last event, ns */
	struct mprof_times_span span; /* of the stream's events */
	uint64_t since;		      /* start of RUNNING's activation, ns */
	uint32_t running;	      /* running thread, or MPROF_NONE */
	uint32_t gap;		      /* gap without an end yet, or MPROF_NONE */
	/*
	 * The pending signal: the last signal to RUNNING in this activation, an interaction, or
	 * MPROF_NONE.
	 */
	uint32_t signal;
	bool created;	      /* RUNNING created a thread after SIGNAL */
	bool counted;	      /* FIRST_COUNT is known */
	uint16_t first_count; /* count of the packet of the first event */
	uint32_t starter;     /* thread that the first event is of, or MPROF_NONE */
};

struct mprof_model {
	struct mprof_model_options options;
	struct grow arrays[MODEL_ARRAYS];
	struct grow pieces;  /* struct mprof_piece; filled by model_durations() */
	struct grow streams; /* struct model_stream */
	struct grow shown;   /* struct mprof_model_stream, filled by mprof_model_finish() */
	struct grow gaps;
	struct grow spare; /* memory that thread-tree.c no longer needs, for layout.c */
	struct intern strings;
	struct map counters; /* from stream and name to the counter's index */
	struct map scales;
	struct map sampled; /* from thread to its last state */
	uint32_t slack;	    /* number of events that fit into the arrays before they must grow */
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
 * Return a pointer to the check time of thread I, ns. While events come in: the last time at which
 * the thread was signalled or tried by a try_read, 0 for never. After STAGE_CHAINS: the first time
 * at which a try_read found it unresolved, UINT64_MAX for never.
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

/*
 * Update the most memory ever held (mprof_model_memory()): the model's own memory now, and EXTRA
 * bytes besides.
 */
void model_note_memory(struct mprof_model *m, uint64_t extra);

/* Reserve room for at least one more event in every array. Return false without memory. */
bool model_reserve(struct mprof_model *m);

/*
 * Append a thread with ID in STREAM; the caller sets its other fields. Return its index. The caller
 * has called model_reserve().
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
 * End the activation of S's running thread at TIME, or when that thread ended if that was earlier.
 * From then on THREAD runs; MPROF_NONE: it is unknown which thread runs.
 */
void model_switch(struct mprof_model *m, struct model_stream *s, uint64_t time, uint32_t thread);

/* Reserve room for one more counter. Return false without memory. */
bool counters_reserve(struct mprof_model *m);

/*
 * Add SAMPLE to the counter NAME (a string) of STREAM, as the `counter` or `increase` E gives it. The
 * counter's new value is E's number, or with an `increase` its old value plus that number; the value of an
 * amount is always E's number. Return the sample's index. The caller has reserved room for a counter and a
 * sample.
 */
uint32_t counters_add(struct mprof_model *m, uint32_t stream, uint32_t name, const struct mprof_sample *sample,
		      const struct mprof_raw_event *e);

/* Steps of mprof_model_finish(). Return false without memory; then they can be repeated. */
bool model_counters_scale(struct mprof_model *m);
bool model_ends(struct mprof_model *m);
/* Set MPROF_THREAD_END_UNSEEN, when the view is shown. Return false without memory: the call can be repeated. */
bool model_unseen(struct mprof_model *m);
void model_chains(struct mprof_model *m);
bool model_counters_sort(struct mprof_model *m);
bool model_tree(struct mprof_model *m);
bool model_layout(struct mprof_model *m);
bool model_durations(struct mprof_model *m);

#endif
