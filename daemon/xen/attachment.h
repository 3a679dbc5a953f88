/*
 * An attachment: one stream that a guest publishes, with its mapped pages, its event channel and
 * its struct stream.
 */
#ifndef XEN_ATTACHMENT_H
#define XEN_ATTACHMENT_H

#include "kick.h"
#include "mapping.h"
#include "memory.h"
#include "schedule.h"
#include "stream-clock.h"
#include "stream.h"

struct domain;
struct keys;

struct attachment {
	struct task task; /* first member; polls the ring */
	struct attachment *next;
	struct domain *domain;
	uint32_t number; /* number of the stream */

	/*
	 * Notes that XenStore's events left. A commit key is ring-ref or directory-ref
	 * (schema/xenstore.md).
	 */
	bool dirty;	 /* the keys must be read */
	bool gone;	 /* the commit key is gone: the guest withdrew the ring, or is dead */
	bool rebind;	 /* event-channel was written: bind again */
	unsigned writes; /* number of writes of the commit key */
	unsigned taken;	 /* value of WRITES when the keys of the attached ring were read */
	unsigned tries;	 /* attempts to read the keys, or to attach the ring, that failed since the last success */
	/* When to read the keys again, if XenStore gave no answer, CLOCK_MONOTONIC ns; 0 = no. */
	uint64_t retry_at;

	/* State of the attached ring. */
	bool attached;
	bool withdrawn;	    /* the guest withdrew this ring: detach it after its capture */
	bool capture_begun; /* the capture of the withdrawn ring was begun */
	uint64_t detach_by; /* when to detach a withdrawn ring in any case, CLOCK_MONOTONIC ns */
	struct mapping mapping;
	uint32_t directory; /* grant reference of the first directory page; 0 = none */
	struct memory_array memory;
	struct stream stream;
	struct stream_clock clock; /* of the guest, from the polls of this ring */
	struct kick kick;
	uint32_t local;	  /* local port, valid if kick.bound */
	uint64_t written; /* position up to which the writer had written at the last poll; see ring.h */

	/* Position at which the stream of a suspended guest continues, valid if HAS_HELD. */
	struct archive_resume held;
	bool has_held;
};

/*
 * Map and attach the ring that KEYS name. RESUME is the position at which the stream continues in
 * the archive; NULL = it begins. DEAD: the guest is dead and writes no more. Return FAULT_NONE; or
 * the fault, and nothing is mapped or attached. With FAULT_RING, *SENTENCE (a constant) says what
 * is wrong with the ring. *CONDITION is stream_attach()'s return value; with FAULT_MAP it is the
 * error of the mapping, -errno.
 */
enum fault attachment_attach(struct attachment *attachment, struct keys *keys, const struct archive_resume *resume,
			     bool dead, const char **sentence, int *condition);
/* Detach the stream, unmap its pages and unbind its port. Do nothing if nothing is attached. */
void attachment_detach(struct attachment *attachment);
/* Store the stream's position in HELD, before the ring of a suspended guest is detached. */
void attachment_hold(struct attachment *attachment);
/*
 * Bind to the guest's PORT in place of the port that is bound; 0 = bind none. Return FAULT_NONE or
 * FAULT_EVENT_CHANNEL.
 */
enum fault attachment_bind(struct attachment *attachment, uint32_t port);
/*
 * Poll the ring. *NEXT is when to poll again, CLOCK_MONOTONIC ns. Return what stream_poll()
 * returns.
 */
int attachment_poll(struct attachment *attachment, uint64_t now, uint64_t *next);

#endif
