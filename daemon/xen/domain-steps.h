/*
 * Shared by the files of a domain: domain.c (its life), domain-state.c (how it is), domain-keys.c (what it writes to XenStore),
 * domain-attachments.c (what is held of each stream), domain-end.c (its ends).
 */
#ifndef XEN_DOMAIN_STEPS_H
#define XEN_DOMAIN_STEPS_H

#include "domain.h"
#include "keys.h"

/* Do at DUE whatever is to be done. */
void domain_at(struct domain *domain, uint64_t due);
/* Ask how it is; the answer comes to domain_on_state. */
void domain_ask(struct domain *domain);
/* Something of it is not taken: counted, and said once for each reason.  DETAIL: behind the sentence, or "". */
void domain_refuse(struct domain *domain, uint32_t number, enum fault fault, const char *detail);
/* The guest of its present run, which begins now where there is none.  -ENOMEM. */
int domain_guest(struct domain *domain, int64_t run);
size_t domain_attached(const struct domain *domain);
/* Its life is LIFE from NOW on. */
void domain_phase_set(struct domain *domain, enum phase phase, uint64_t now);
/* Is a share to be read or attached in a while? */
bool domain_waits(const struct domain *domain);

/* ---- domain.c: its life ---- */

/* Are the nodes of its domid still its own?  True also of one that never had a UUID; false where they are gone or another's. */
bool domain_is_itself(struct domain *domain);

/* ---- domain-state.c: how it is ---- */

/* A guest that was there before us, or is new: go on with it, or take what a dead one has left, once.  STATE as domain_on_state's. */
void domain_decide(struct domain *domain, const struct domain_state *state, uint64_t now);
/* A suspended one was resumed. */
void domain_goes_on(struct domain *domain, uint64_t now);
/* Commit keys are gone: find out what that means. */
void domain_vanish(struct domain *domain, uint64_t now);
/* How it is, or NULL: that is not known. */
void domain_vanish_on_state(struct domain *domain, const struct domain_state *state, uint64_t now);

/* ---- domain-keys.c: what it writes to XenStore ---- */

#define READY_NS \
	(100 * NS_PER_MS) /* a ring that is not ready, or a store that gave no answer, is tried again after this ... */
#define READY_TRIES 20u	  /* ... so often */

/* Watch its keys; the first event tells to read them all.  -errno. */
int domain_watch(struct domain *domain);
void domain_unwatch(struct domain *domain);
/* Look at it again only after a while: it changes too much. */
void domain_rest(struct domain *domain, uint64_t now);
/* Do one thing that is to be done about its keys: true; or there is nothing. */
bool domain_keys_step(struct domain *domain, uint64_t now);
/* Where it says that it offers its memory profile, read now; 0: nowhere. */
uint32_t domain_memtrace_port(struct domain *domain);
/* A memory profile came from it: it has a run from now on. */
void domain_is_profiled(struct domain *domain);
/* Does its run go on without a ring? */
bool domain_offers(const struct domain *domain);
/* It offers nothing any more, or is gone: find out which. */
void domain_offer_gone(struct domain *domain, uint64_t now);

/* ---- domain-attachments.c: what is held of each stream ---- */

/* The record of stream NUMBER, a new one where there is none; NULL: there is no room. */
struct attachment *attachment_get(struct domain *domain, uint32_t number);
/* Let go of what it holds and forget it. */
void attachment_free(struct attachment *attachment);
void domain_attachments_free(struct domain *domain);
/* Its keys say that a ring is there. */
void attachment_published(struct attachment *attachment, struct keys *keys, uint64_t now);
/* Its keys say nothing, or nothing that holds. */
void attachment_unpublished(struct attachment *attachment, uint64_t now);
/* The task of a share. */
void domain_attachment_run(struct task *task, uint64_t now);

/* ---- domain-end.c ---- */

/* Does its policy want a capture of such an end? */
bool domain_wants_end(const struct domain *domain, const struct run_end *ending);
/* Take what is left, as a capture, and let go of it; at once where nothing is held. */
void domain_close(struct domain *domain, const struct run_end *ending, uint64_t now);
/* Its run, if it has one, is over as ENDING says; what follows is another. */
void domain_run_end(struct domain *domain);
/* All is taken, or the time for it is over. */
void domain_closed(struct domain *domain, uint64_t now);
/* Its ring was begun anew under its keys: nothing is left to take of the old one. */
void domain_renew(struct domain *domain, uint64_t now);
/* Do one thing about subtree, console and context: true; or there is nothing now, and *NEXT says when there may be (0: never). */
bool domain_context_step(struct domain *domain, uint64_t now, uint64_t *next);

#endif
