/*
 * Shared by the files of a domain: domain.c (its phases), domain-state.c (its state and how it
 * ended), domain-keys.c (the keys that it writes to XenStore), domain-attachments.c (its streams),
 * domain-end.c (the end of its runs).
 */
#ifndef XEN_DOMAIN_STEPS_H
#define XEN_DOMAIN_STEPS_H

#include "domain.h"
#include "keys.h"

/* Schedule the domain's task for DUE, CLOCK_MONOTONIC ns. */
void domain_at(struct domain *domain, uint64_t due);
/* Ask the helper for the domain's state. The answer is passed to domain_on_state(). */
void domain_ask(struct domain *domain);
/*
 * Count a refusal of stream NUMBER. Log a sentence the first time that FAULT occurs in the domain.
 * DETAIL is appended to the sentence; "" = none.
 */
void domain_refuse(struct domain *domain, uint32_t number, enum fault fault, const char *detail);
/*
 * Create the guest of the current run, if there is none. RUN is the archive's run to continue; 0 =
 * a new run. Return 0 or -ENOMEM.
 */
int domain_guest(struct domain *domain, int64_t run);
size_t domain_attached(const struct domain *domain);
/* Enter PHASE. NOW is CLOCK_MONOTONIC ns. */
void domain_phase_set(struct domain *domain, enum phase phase, uint64_t now);
/* Return whether the domain has an attachment that waits to be read or attached. */
bool domain_waits(const struct domain *domain);

/* ---- domain.c ---- */

/*
 * Return whether the XenStore nodes of the domid still belong to this domain, also if the domain
 * never had a UUID. Return false if the nodes are gone, or belong to another domain.
 */
bool domain_uuid_matches(struct domain *domain);

/* ---- domain-state.c ---- */

/*
 * Decide how to treat a domain in phase ASKED: continue the archive's run, begin a new run, or
 * capture the end of a domain that is dead. STATE as in domain_on_state().
 */
void domain_decide(struct domain *domain, const struct domain_state *state, uint64_t now);
/* Continue with a domain that was suspended and has resumed. */
void domain_resumed(struct domain *domain, uint64_t now);
/*
 * The commit keys are gone: ask the helper why, because the guest may have withdrawn them or may be
 * dead.
 */
void domain_keys_gone(struct domain *domain, uint64_t now);
/* Decide why the commit keys are gone. STATE and ASKED as in domain_on_state(). */
void domain_keys_gone_on_state(struct domain *domain, const struct domain_state *state, uint64_t asked, uint64_t now);

/* ---- domain-keys.c ---- */

/* Time between attempts for a ring that is not ready, or a XenStore that does not answer. */
#define READY_NS    (100 * NS_PER_MS)
#define READY_TRIES 20u /* number of attempts */

/*
 * Watch the domain's keys. The watch's first event makes domain_keys_step() read all keys. Return 0
 * or -errno.
 */
int domain_watch(struct domain *domain);
void domain_unwatch(struct domain *domain);
/* Note that any of the domain's keys may have changed: all are read again. */
void domain_scan_all(struct domain *domain);
/* Ignore the domain's keys for RATE_IGNORE_NS, because they change too often. */
void domain_ignore_keys(struct domain *domain, uint64_t now);
/* Read one of the domain's keys that must be read. Return false if there is none. */
bool domain_keys_step(struct domain *domain, uint64_t now);
/*
 * Read and return the TCP port at which the domain offers its memory profile; 0 = it offers none.
 */
uint32_t domain_memtrace_port(struct domain *domain);
/*
 * Note that mprofd-sink receives a memory profile of the domain, and give the domain a run if it
 * has none.
 */
void domain_is_profiled(struct domain *domain);
/*
 * Return whether the domain has a run even without a ring, because it offers a memory profile or
 * one was received.
 */
bool domain_offers(const struct domain *domain);
/* Find out whether the domain has withdrawn the offer of its memory profile, or has died. */
void domain_offer_gone(struct domain *domain, uint64_t now);

/* ---- domain-attachments.c ---- */

/*
 * Return the attachment of stream NUMBER, and create it if there is none. Return NULL if the domain
 * has DOMAIN_ATTACHMENTS_MAX attachments or memory is short.
 */
struct attachment *attachment_get(struct domain *domain, uint32_t number);
/* Detach ATTACHMENT, remove it from its domain and free it. */
void attachment_free(struct attachment *attachment);
void domain_attachments_free(struct domain *domain);
/*
 * Prepare a read of the list of the domain's streams: free the attachments that nothing uses, to
 * make room for new streams, and mark all others dirty. Those whose keys were read and gave nothing
 * to attach are idle from then on (see numbers_idle).
 */
void domain_attachments_sweep(struct domain *domain);
/*
 * Return whether a stream was refused because the domain had too many, and there is room now. A
 * read of the list then finds it.
 */
bool domain_has_room_again(const struct domain *domain);
/* Return whether stream NUMBER is in numbers_idle; remove it from there after a write to its keys. */
bool domain_number_is_idle(const struct domain *domain, uint32_t number);
void domain_number_written(struct domain *domain, uint32_t number);
/*
 * Act on keys that publish a ring: attach the ring, or begin a new run if it replaces another ring.
 */
void attachment_published(struct attachment *attachment, struct keys *keys, uint64_t now);
/* Act on keys that publish no ring, or were refused. */
void attachment_unpublished(struct attachment *attachment, uint64_t now);
/* Poll the ring. This is the attachment's task. */
void domain_attachment_run(struct task *task, uint64_t now);

/* ---- domain-end.c ---- */

/* Return the kind (constant) of the capture of an end like ENDING that the domain's policy wants, or NULL if it wants none. */
const char *domain_end_kind(const struct domain *domain, const struct run_end *ending);
/*
 * Begin to close the domain: capture the bytes that are left in its rings, and then call
 * domain_closed(). If nothing is attached, call domain_closed() at once.
 */
void domain_close(struct domain *domain, const struct run_end *ending, uint64_t now);
/*
 * End the domain's run, if it has one, with the state and kind of domain->ending. The next run gets
 * a new epoch.
 */
void domain_run_end(struct domain *domain);
/*
 * Detach all rings and enter the phase that follows domain->ending. To be called when the capture
 * is complete, or its time is over.
 */
void domain_closed(struct domain *domain, uint64_t now);
/*
 * End the run because the guest has initialised its ring again. No capture is taken: the old bytes
 * are overwritten.
 */
void domain_renew(struct domain *domain, uint64_t now);
/*
 * Advance the work on the capture's context by one step: read a few nodes of the subtree, or ask
 * for the console. Return false if there is nothing to do now; *NEXT is then when to call again,
 * CLOCK_MONOTONIC ns, or 0 if nothing is left to do.
 */
bool domain_context_step(struct domain *domain, uint64_t now, uint64_t *next);

#endif
