/*
 * An attachment: one stream as a guest publishes it, and what mprofd holds of it: mapped pages, an
 * event channel, the stream.
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
	struct task task; /* first; polls the ring */
	struct attachment *next;
	struct domain *domain;
	uint32_t number;

	/* notes from XenStore's events */
	bool dirty;	 /* the keys are to be read */
	bool gone;	 /* the commit key was gone: withdrawn, or the guest is dead */
	bool rebind;	 /* event-channel was written */
	unsigned writes; /* writes of a commit key seen so far */
	unsigned taken;	 /* of these, seen before the attached keys were read */
	unsigned tries;	 /* attempts to attach a ring that was not ready */
	uint64_t
		retry_at; /* CLOCK_MONOTONIC ns when to read the keys again, because XenStore gave no answer; 0 = not */

	/* resources */
	bool attached;
	bool withdrawn;	    /* withdrawn: to be detached when its end is captured */
	bool capture_begun; /* that capture was begun */
	uint64_t detach_by; /* CLOCK_MONOTONIC ns when to detach it in any case */
	struct mapping mapping;
	uint32_t directory; /* reference of the directory that lists the pages; 0 = none */
	struct memory_array memory;
	struct stream stream;
	struct kick kick;
	uint32_t local;	  /* local port, while kick.bound */
	uint64_t written; /* bytes written at the last poll */

	struct archive_resume held; /* where a suspended guest's stream continues */
	bool has_held;
};

/*
 * Map and attach the ring that KEYS name. DEAD: nobody writes any more. Return FAULT_NONE, or the
 * fault and hold nothing. With FAULT_RING *SENTENCE (a constant) says what is wrong with the ring.
 * *CONDITION is RING_E_NOT_YET or RING_E_RENEWED if that is the reason.
 */
enum fault attachment_attach(struct attachment *attachment, struct keys *keys, const struct archive_resume *resume,
			     bool dead, const char **sentence, int *condition);
/* Unmap, unbind, detach. Accept one that holds nothing. */
void attachment_detach(struct attachment *attachment);
/* Remember where the stream stands, for when the guest resumes. */
void attachment_hold(struct attachment *attachment);
/*
 * Bind to PORT instead of the present one; 0 = to none. Return FAULT_NONE or FAULT_EVENT_CHANNEL.
 */
enum fault attachment_bind(struct attachment *attachment, uint32_t port);
/* Poll the ring and set when to poll next. As stream_poll. */
int attachment_poll(struct attachment *attachment, uint64_t now, uint64_t *next);

#endif
