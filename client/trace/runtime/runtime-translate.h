/* Shared by the files that translate items into events: runtime-translate.c and runtime-eio.c. */
#ifndef TRACE_RUNTIME_TRANSLATE_H
#define TRACE_RUNTIME_TRANSLATE_H

#include <mprof/runtime.h>

#include "runtime-ids.h"

#define RUNTIME_PHASES_MAX    32u /* nested phases, and open spans, of a domain that are followed */
#define RUNTIME_TEXT_MAX      1100u
#define RUNTIME_OPERATION_MAX 128u
#define RUNTIME_USER_IDS      8192u

struct runtime_phase {
	uint64_t since; /* ns */
	uint16_t id;
	bool collection;
};

/* A span of the program that is open in a domain. */
struct runtime_open {
	uint64_t since; /* ns */
	int64_t thread; /* the thread that ran when it began */
	uint16_t id;
};

/* A fibre that was suspended, as long as the next item of its ring can say what for. */
struct runtime_suspended {
	int64_t fibre; /* RUNTIME_NO_ID: none */
	uint64_t time;
	char operation[RUNTIME_OPERATION_MAX];
	size_t bytes;
};

/* The domain that writes a ring. */
struct runtime_domain {
	bool known;    /* an item of the ring was seen */
	bool begun;    /* THREAD was created */
	bool ended;    /* THREAD was resolved, and no other domain has begun */
	bool tried;    /* the running fibre tried to get an object and did not get it yet */
	uint64_t last; /* time of the last event that was passed, ns */
	int64_t thread;
	int64_t running; /* thread of the last `switch`; RUNTIME_NO_ID: unknown */
	int64_t fibre;	 /* the fibre that runs; RUNTIME_NO_ID: none */
	struct runtime_suspended suspended;
	uint32_t depth; /* open phases, also those beyond RUNTIME_PHASES_MAX */
	struct runtime_phase phases[RUNTIME_PHASES_MAX];
	uint32_t opened;
	struct runtime_open spans[RUNTIME_PHASES_MAX]; /* OPENED of them; a further one is ignored */
};

struct mprof_runtime_translator {
	struct mprof_runtime_events events;
	struct runtime_domain *domains; /* one for each ring */
	struct runtime_ids ids;
	int64_t next_id;	       /* the next thread that the translator itself makes; below -1, going down */
	uint8_t eio[RUNTIME_USER_IDS]; /* for each user event: 0 = unknown yet, 1 = not Eio's, else what it is */
	char text[RUNTIME_TEXT_MAX];
};

/* One item that is being translated. */
struct runtime_step {
	struct mprof_runtime_translator *t;
	struct runtime_domain *d;
	const struct mprof_runtime_item *item;
	uint64_t time;
	uint32_t ring;
	int stopped; /* what an event returned to stop the reading; after that no event is passed */
};

/* Pass an event with the ids CONTEXT and NUMBER. */
void runtime_emit(struct runtime_step *s, uint8_t id, int64_t context, int64_t number);
/* Pass a `creates` of CHILD by PARENT. */
void runtime_emit_creates(struct runtime_step *s, int64_t parent, int64_t child, enum mprof_thread_type type);
/* As runtime_emit(), with a text, which is copied up to RUNTIME_TEXT_MAX bytes; a NUL becomes a `?`. */
void runtime_emit_text(struct runtime_step *s, uint8_t id, int64_t context, int64_t number, const char *text,
		       size_t bytes);
/* THREAD took the time from SINCE on; the text is the name. */
void runtime_emit_duration(struct runtime_step *s, int64_t thread, uint64_t since, const char *name, size_t bytes);
/* Pass a `switch` to THREAD, unless it runs already. */
void runtime_switch(struct runtime_step *s, int64_t thread);
/* Return the thread that runs in the domain: a fibre, or the domain's own thread. */
int64_t runtime_running(const struct runtime_step *s);
/* Return an id for a thread that no item names. */
int64_t runtime_new_id(struct mprof_runtime_translator *t);

/*
 * Translate the item if it is an event of Eio. Return false if it is not.
 */
bool runtime_eio(struct runtime_step *s);
/* The next item of the ring does not say what the suspended fibre waits for: make a thread that stands for it. */
void runtime_eio_settle(struct runtime_step *s);

#endif
