/*
 * Write a program as mirage-profile does, with its version of Lwt: one ring without declarations, and one thread
 * that runs at a time. A thread that waits for a condition signals it first; then the condition creates the thread
 * to wait on. A mutex is not in such a trace: who waits for it waits on a thread that the mutex's owner resolves.
 */
#include "recording.h"

#include <stdio.h>
#include <string.h>

struct writer {
	struct recording *r;
	const struct world *w;
	struct mprof_recorder *rec;
	int64_t wait[WORLD_THREADS];  /* the thread on which it waits */
	bool resolved[WORLD_THREADS]; /* that one */
	int64_t freed[WORLD_OBJECTS]; /* who unlocked the mutex last */
	bool known[WORLD_OBJECTS];
	unsigned created; /* threads whose creation is written */
};

static void label(struct writer *wr, int64_t id, const char *text)
{
	mprof_recorder_label(wr->rec, id, text, strlen(text));
}

static void know_object(struct writer *wr, int object)
{
	if (wr->known[object] || wr->w->objects[0][object].kind != OBJECT_CONDITION)
		return;
	wr->known[object] = true;
	mprof_recorder_creates(wr->rec, LWT_OBJECT(object), MPROF_THREAD_Condition);
}

/* Create the thread on which THREAD waits, in WAIT of the world or in a part of it. */
static void wait_new(struct writer *wr, int thread, int wait)
{
	struct recording *r = wr->r;

	r->waits[r->n_waits] = wait;
	wr->wait[thread] = LWT_WAIT(r->n_waits++);
	wr->resolved[thread] = false;
	mprof_recorder_creates(wr->rec, wr->wait[thread], MPROF_THREAD_Task);
}

/* Create the threads that the program has created up to TIME. */
static void write_created(struct writer *wr, uint64_t time)
{
	for (; wr->created < wr->w->n_threads && wr->w->threads[wr->created].created <= time; wr->created++) {
		const struct thread *t = &wr->w->threads[wr->created];
		int64_t id = LWT_THREAD(wr->created);
		char text[16];

		mprof_recorder_at(wr->rec, recording_clock(wr->r, t->created));
		mprof_recorder_switch(wr->rec, t->creator == WORLD_NONE ? 0 : LWT_THREAD(t->creator));
		mprof_recorder_creates(wr->rec, id, MPROF_THREAD_Task);
		mprof_recorder_should_resolve(wr->rec, id);
		snprintf(text, sizeof(text), "program%d", t->program);
		label(wr, id, text);
	}
}

static void write_block(struct writer *wr, const struct fact *f)
{
	const struct wait *wait = &wr->w->waits[f->wait];
	int64_t id = LWT_THREAD(f->thread);

	mprof_recorder_switch(wr->rec, id);
	if (wait->joined != WORLD_NONE) {
		wr->wait[f->thread] = LWT_THREAD(wait->joined);
		wr->resolved[f->thread] = true; /* it resolves itself */
	} else if (wait->object != WORLD_NONE && wr->w->objects[0][wait->object].kind == OBJECT_CONDITION) {
		know_object(wr, wait->object);
		mprof_recorder_signal(wr->rec, LWT_OBJECT(wait->object), id);
		wait_new(wr, f->thread, f->wait);
		mprof_recorder_switch(wr->rec, id);
	} else {
		wait_new(wr, f->thread, f->wait);
		if (wait->object == WORLD_NONE)
			label(wr, wr->wait[f->thread], "sleep");
	}
	mprof_recorder_try_read(wr->rec, id, wr->wait[f->thread]);
	mprof_recorder_suspend(wr->rec);
}

static void write_resume(struct writer *wr, const struct fact *f)
{
	const struct wait *wait = &wr->w->waits[f->wait];

	if (!wr->resolved[f->thread]) {
		bool mutex = wait->object != WORLD_NONE;

		mprof_recorder_switch(wr->rec, mutex ? wr->freed[wait->object] : 0);
		mprof_recorder_fulfills(wr->rec, wr->wait[f->thread]);
	}
	mprof_recorder_read(wr->rec, LWT_THREAD(f->thread), wr->wait[f->thread]);
}

/* A woken thread waits for the mutex, on another thread than for the condition. */
static void write_relock(struct writer *wr, const struct fact *f)
{
	mprof_recorder_read(wr->rec, LWT_THREAD(f->thread), wr->wait[f->thread]);
	wait_new(wr, f->thread, WORLD_NONE);
	mprof_recorder_try_read(wr->rec, LWT_THREAD(f->thread), wr->wait[f->thread]);
	mprof_recorder_suspend(wr->rec);
}

static void write_signal(struct writer *wr, const struct fact *f)
{
	mprof_recorder_switch(wr->rec, LWT_THREAD(f->thread));
	know_object(wr, f->object);
	mprof_recorder_signal(wr->rec, LWT_OBJECT(f->object), LWT_THREAD(f->thread));
}

static void write_fact(struct writer *wr, unsigned i)
{
	const struct fact *f = &wr->w->facts[i];

	write_created(wr, f->time);
	wr->r->facts[i] = (struct place_of_fact){0, mprof_recorder_sequence(wr->rec)};
	mprof_recorder_at(wr->rec, recording_clock(wr->r, f->time));
	switch (f->kind) {
	case FACT_BEGIN:
		mprof_recorder_switch(wr->rec, LWT_THREAD(f->thread));
		break;
	case FACT_BLOCK:
		write_block(wr, f);
		break;
	case FACT_RESUME:
		write_resume(wr, f);
		break;
	case FACT_RELOCK:
		write_relock(wr, f);
		break;
	case FACT_SIGNAL:
		write_signal(wr, f);
		break;
	case FACT_WOKEN:
		mprof_recorder_fulfills(wr->rec, wr->wait[f->other]);
		wr->resolved[f->other] = true;
		break;
	case FACT_FREE:
		wr->freed[f->object] = LWT_THREAD(f->thread);
		wr->r->facts[i].ring = WORLD_NONE;
		break;
	case FACT_END:
		mprof_recorder_switch(wr->rec, LWT_THREAD(f->thread));
		mprof_recorder_fulfills(wr->rec, LWT_THREAD(f->thread));
		break;
	default:
		wr->r->facts[i].ring = WORLD_NONE;
		break;
	}
}

bool recording_lwt(struct recording *r, const struct world *w, uint64_t until, const struct hiding *h)
{
	struct writer wr = {.r = r, .w = w};
	struct ring *ring;

	*r = (struct recording){.world = w, .hiding = h, .until = until, .lwt = true};
	ring = ring_new(r, "ring", h->ring_bytes < 4096 ? 4096 : h->ring_bytes);
	if (!ring)
		return false;
	wr.rec = &ring->recorder;
	mprof_recorder_compatible(wr.rec, true);
	mprof_recorder_at(wr.rec, recording_clock(r, w->facts[0].time));
	mprof_recorder_switch(wr.rec, 0);
	for (unsigned i = 0; i < w->n_facts && w->facts[i].time <= until; i++)
		write_fact(&wr, i);
	return true;
}
