/*
 * The fibres and objects of Eio that a translator knows, by id. The table has a fixed size: where it
 * is full, a new id displaces the one that was used longest ago.
 */
#ifndef TRACE_RUNTIME_IDS_H
#define TRACE_RUNTIME_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define RUNTIME_NO_ID INT64_MIN

struct runtime_id {
	int64_t id;
	uint64_t used;	   /* number of the last use; 0 = the place is free */
	int64_t innermost; /* of a fibre: the innermost cancellation context that it entered */
	int64_t outer;	   /* of a context: the one around it in the same fibre */
	int64_t wait;	   /* of a fibre: the thread that stands for its wait */
	char *error;	   /* of a context: why it was cancelled; owned; NULL = it was not */
	uint8_t type;	   /* enum mprof_thread_type, MPROF_THREAD_UNKNOWN until it is known */
	bool marked;	   /* a fibre that was marked as one that should resolve */
	bool resolved;
};

struct runtime_ids {
	struct runtime_id *places;
	uint64_t seed;
	uint64_t uses;
};

/* Make an empty table. Return false without memory. SEED is unknown to the writer of the ids. */
bool runtime_ids_init(struct runtime_ids *t, uint64_t seed);
void runtime_ids_deinit(struct runtime_ids *t);
/* Return ID, or NULL if it is not in the table. Valid until the next runtime_ids_add(). */
struct runtime_id *runtime_ids_find(struct runtime_ids *t, int64_t id);
/* Return ID, which is added if it is not in the table. Valid as above. */
struct runtime_id *runtime_ids_add(struct runtime_ids *t, int64_t id);
/* Forget E, a result of the calls above. */
void runtime_ids_remove(struct runtime_id *e);

#endif
