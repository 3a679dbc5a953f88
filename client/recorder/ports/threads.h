/*
 * The threads of a unikernel, for the ports of this folder: which thread of the trace stands for which
 * thread of the kernel. A port includes this file once, in its own header, with PORT_THREADS defined.
 *
 * Nothing here locks: the port disables interrupts, and runs on one processor.
 */
#ifndef PORTS_THREADS_H
#define PORTS_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/recorder.h>

struct port_thread {
	const void *thread; /* the kernel's; NULL before its scheduler runs */
	int64_t id;
	int64_t wait; /* the wait that is open or not yet read; 0 = none */
	bool woken;   /* WAIT is resolved */
	bool timed;   /* WAIT may end by time */
};

/* Zeroed at first, but for RECORDER. */
struct port_table {
	struct mprof_recorder *recorder; /* the port's */
	int64_t newest;			 /* the newest id of the trace */
	int64_t overflow;		 /* stands for all threads beyond PORT_THREADS; 0 = there are none */
	struct port_thread threads[PORT_THREADS];
	unsigned int n;
};

/* Return the length of TEXT. strlen() may use registers that interrupt handlers must not change. */
static inline size_t port_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static inline void port_label(struct port_table *table, int64_t id, const char *text)
{
	mprof_recorder_label(table->recorder, id, text, port_length(text));
}

/* Record that a thread of TYPE is created, with the label NAME unless it is NULL. Return its id. */
static inline int64_t port_create(struct port_table *table, enum mprof_thread_type type, const char *name)
{
	int64_t id = ++table->newest;

	mprof_recorder_creates(table->recorder, id, type);
	if (name)
		port_label(table, id, name);
	return id;
}

/* Return the entry of THREAD, or NULL. */
static inline struct port_thread *port_thread_find(struct port_table *table, const void *thread)
{
	for (unsigned int i = 0; i < table->n; i++)
		if (table->threads[i].thread == thread)
			return &table->threads[i];
	return NULL;
}

/* Return the entry of THREAD, which is made with the label NAME if needed; NULL if the table is full. */
static inline struct port_thread *port_thread_get(struct port_table *table, const void *thread, const char *name)
{
	struct port_thread *t = port_thread_find(table, thread);

	if (t || table->n == PORT_THREADS)
		return t;
	t = &table->threads[table->n++];
	*t = (struct port_thread){.thread = thread};
	t->id = port_create(table, MPROF_THREAD_Task, name);
	return t;
}

/* Return the id of THREAD. A thread that is seen first is created in the trace, with the label NAME. */
static inline int64_t port_thread_number(struct port_table *table, const void *thread, const char *name)
{
	struct port_thread *t = port_thread_get(table, thread, name);

	if (t)
		return t->id;
	if (!table->overflow)
		table->overflow = port_create(table, MPROF_THREAD_Task, "further threads");
	return table->overflow;
}

/* Free the entry T of the table. */
static inline void port_thread_free(struct port_table *table, struct port_thread *t)
{
	*t = table->threads[--table->n];
}

/*
 * The thread T continues: its wait is over. If nobody woke it, RESOLVER ended the wait. Does nothing if
 * it did not wait.
 */
static inline void port_thread_continue(struct port_table *table, struct port_thread *t, int64_t resolver)
{
	if (!t->wait)
		return;
	if (!t->woken) {
		mprof_recorder_switch(table->recorder, resolver);
		mprof_recorder_fulfills(table->recorder, t->wait);
	}
	mprof_recorder_read(table->recorder, t->id, t->wait);
	t->wait = 0;
}

#endif
