/*
 * The fibres and objects of Eio that a translator knows, by id. The table has a fixed size: where it
 * is full, a new id displaces the one that was used longest ago.
 */
#ifndef TRACE_RUNTIME_IDS_H
#define TRACE_RUNTIME_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define RUNTIME_NO_ID	  INT64_MIN
#define RUNTIME_SPANS_MAX 64u

/* A span of a fibre that is open. */
struct runtime_span {
	struct runtime_span *outer; /* owned */
	uint64_t since;		    /* ns */
	size_t bytes;
	char name[];
};

struct runtime_id {
	int64_t id;
	uint64_t used;		    /* number of the last use; 0 = the place is free */
	int64_t innermost;	    /* of a fibre: the innermost cancellation context that it entered */
	int64_t outer;		    /* of a context: the one around it in the same fibre */
	int64_t wait;		    /* of a fibre: the thread that stands for its wait */
	int64_t awaits;		    /* of a fibre: the object that it tried to get and did not get yet */
	int64_t holder;		    /* of a mutex: the fibre that has it */
	uint32_t waiting;	    /* of a mutex: fibres that wait for it */
	struct runtime_span *spans; /* of a fibre: the open spans, the innermost first; owned */
	uint32_t depth;		    /* number of SPANS */
	char *error;		    /* of a context: why it was cancelled; owned; NULL = it was not */
	uint8_t type;		    /* enum mprof_thread_type, MPROF_THREAD_UNKNOWN until it is known */
	bool marked;		    /* a fibre that was marked as one that should resolve */
	bool resolved;
};

struct runtime_ids {
	struct runtime_id *places;
	uint64_t seed;
	uint64_t uses;
};

/* Make an empty table. Return false without memory. SEED is unknown to the writer of the ids. */
bool runtime_ids_init(struct runtime_ids *ids, uint64_t seed);
void runtime_ids_deinit(struct runtime_ids *ids);
/* Return ID, or NULL if it is not in the table. Valid until the next runtime_ids_add(). */
struct runtime_id *runtime_ids_find(struct runtime_ids *ids, int64_t id);
/* Return ID, which is added if it is not in the table. Valid as above. */
struct runtime_id *runtime_ids_add(struct runtime_ids *ids, int64_t id);
/*
 * Open a span of ID, with the name of BYTES bytes at NAME. Spans beyond RUNTIME_SPANS_MAX are only
 * counted. Return false without memory.
 */
bool runtime_ids_open(struct runtime_id *id, uint64_t since, const char *name, size_t bytes);
/*
 * Close the innermost span of ID. Return it, and the caller frees it; NULL if none is open or the span
 * was only counted.
 */
struct runtime_span *runtime_ids_close(struct runtime_id *id);
/* Forget ID, a result of the calls above. */
void runtime_ids_remove(struct runtime_id *id);

#endif
