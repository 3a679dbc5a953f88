/*
 * A share: one stream as a guest publishes it, and what the collector holds of it: pages, an event channel, the stream.
 */
#ifndef XEN_ATTACHMENT_H
#define XEN_ATTACHMENT_H

#include "kick.h"
#include "mapping.h"
#include "memory.h"
#include "schedule.h"
#include "stream.h"

struct domain;
struct keys;

struct attachment {
	struct task task; /* first: its looks */
	struct attachment *next;
	struct domain *domain;
	uint32_t number;

	/* what XenStore's events say of its keys */
	bool dirty;	 /* they are to be read */
	bool gone;	 /* the commit key was not there: withdrawn, or the guest is dead */
	bool rebind;	 /* event-channel was written */
	unsigned writes; /* of a commit key, that were seen ... */
	unsigned taken;	 /* ... and of these, before what is attached was read */
	unsigned tries;	 /* what was not ready was tried so often */
	uint64_t
		again; /* CLOCK_MONOTONIC ns: when to read the keys once more, since XenStore gave no answer; 0 = not */

	/* what is held */
	bool attached;
	bool leaving;	   /* withdrawn: let go when its end is captured ... */
	bool left;	   /* ... which is under way ... */
	uint64_t leave_by; /* ... or at this moment, CLOCK_MONOTONIC ns */
	struct mapping mapping;
	uint32_t directory; /* that told of the pages; 0 = none */
	struct memory_array memory;
	struct stream stream;
	struct kick kick;
	uint32_t local;	  /* port, while kick.bound */
	uint64_t written; /* ring.written at the last look */

	struct archive_resume held; /* where a suspended guest's stream goes on */
	bool has_held;
};

/*
 * Map and attach what KEYS tell.  DEAD: nobody writes any more.  FAULT_NONE, or why not: then nothing is held, and FAULT_RING says in
 * *SENTENCE (a constant) what is wrong with it.  *CONDITION: RING_E_NOT_YET or RING_E_RENEWED, where that is it.
 */
enum fault attachment_attach(struct attachment *attachment, struct keys *keys, const struct archive_resume *resume,
			     bool dead, const char **sentence, int *condition);
/* Unmap, unbind, detach.  One that holds nothing too. */
void attachment_detach(struct attachment *attachment);
/* Remember where the stream stands, for when the guest goes on. */
void attachment_hold(struct attachment *attachment);
/* Bind to PORT instead of what is bound; 0: to nothing.  FAULT_NONE or FAULT_EVENT_CHANNEL. */
enum fault attachment_bind(struct attachment *attachment, uint32_t port);
/* A look, and when to look again.  As stream_poll. */
int attachment_poll(struct attachment *attachment, uint64_t now, uint64_t *next);

#endif
