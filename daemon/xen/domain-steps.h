/*
 * Shared by the files of a domain: domain.c (its phases), domain-state.c (what the helper says
 * about it), domain-keys.c (what it writes to XenStore), domain-attachments.c (its streams),
 * domain-end.c (its ends).
 */
#ifndef XEN_DOMAIN_STEPS_H
#define XEN_DOMAIN_STEPS_H

#include "domain.h"
#include "keys.h"

/* Run the domain's task at DUE. */
void domain_at(struct domain *domain, uint64_t due);
/* Ask for the domain's state. The answer comes to domain_on_state. */
void domain_ask(struct domain *domain);
/* Count a refusal, and log it once for each fault. DETAIL follows the sentence, or is "". */
void domain_refuse(struct domain *domain, uint32_t number, enum fault fault, const char *detail);
/* Make the guest of the present run, if there is none. Return 0 or -ENOMEM. */
int domain_guest(struct domain *domain, int64_t run);
size_t domain_attached(const struct domain *domain);
/* Enter PHASE at NOW. */
void domain_phase_set(struct domain *domain, enum phase phase, uint64_t now);
/* Return true if an attachment is waiting to be read or attached. */
bool domain_waits(const struct domain *domain);

/* ---- domain.c: its life ---- */

/*
 * Return true if the nodes of the domid still belong to this domain, also if it never had a UUID;
 * false if they are gone or another's.
 */
bool domain_uuid_matches(struct domain *domain);

/* ---- domain-state.c: how it is ---- */

/*
 * Decide on a guest that was there before mprofd, or is new: continue with it, or take what a dead
 * one left, once. STATE as in domain_on_state.
 */
void domain_decide(struct domain *domain, const struct domain_state *state, uint64_t now);
/* Continue with a suspended domain that was resumed. */
void domain_resumed(struct domain *domain, uint64_t now);
/* Find out why commit keys are gone. */
void domain_keys_gone(struct domain *domain, uint64_t now);
/* Decide why they are gone. STATE as in domain_on_state. */
void domain_keys_gone_on_state(struct domain *domain, const struct domain_state *state, uint64_t now);

/* ---- domain-keys.c: what it writes to XenStore ---- */

#define READY_NS \
	(100 * NS_PER_MS) /* interval of attempts for a ring that is not ready, or a store that gave no answer */
#define READY_TRIES 20u	  /* number of attempts */

/* Watch the domain's keys. The first event causes a read of all of them. Return 0 or -errno. */
int domain_watch(struct domain *domain);
void domain_unwatch(struct domain *domain);
/* Ignore the domain's keys for a while, because they change too often. */
void domain_ignore_keys(struct domain *domain, uint64_t now);
/* Take one step with the domain's keys. Return false if there is none to take. */
bool domain_keys_step(struct domain *domain, uint64_t now);
/* Read the port at which the domain offers its memory profile; 0 = none. */
uint32_t domain_memtrace_port(struct domain *domain);
/* Note that a memory profile came from the domain, and give it a run. */
void domain_is_profiled(struct domain *domain);
/* Return true if the run continues without a ring. */
bool domain_offers(const struct domain *domain);
/* Find out whether the domain withdrew its offer or is gone. */
void domain_offer_gone(struct domain *domain, uint64_t now);

/* ---- domain-attachments.c: what is held of each stream ---- */

/* Return the attachment of stream NUMBER, a new one if there is none; NULL if there is no room. */
struct attachment *attachment_get(struct domain *domain, uint32_t number);
/* Detach and free it. */
void attachment_free(struct attachment *attachment);
void domain_attachments_free(struct domain *domain);
/* Act on keys that name a ring. */
void attachment_published(struct attachment *attachment, struct keys *keys, uint64_t now);
/* Act on keys that name no ring, or a wrong one. */
void attachment_unpublished(struct attachment *attachment, uint64_t now);
/* Poll an attachment. For its task. */
void domain_attachment_run(struct task *task, uint64_t now);

/* ---- domain-end.c ---- */

/* Return true if the domain's policy wants a capture of such an end. */
bool domain_wants_end(const struct domain *domain, const struct run_end *ending);
/* Capture what is left and detach it; at once if nothing is attached. */
void domain_close(struct domain *domain, const struct run_end *ending, uint64_t now);
/* End the run, if there is one, as ENDING says. Another run follows. */
void domain_run_end(struct domain *domain);
/* Detach: everything is captured, or the time for it is over. */
void domain_closed(struct domain *domain, uint64_t now);
/* End the run because its ring was initialised again: nothing of the old one is left. */
void domain_renew(struct domain *domain, uint64_t now);
/*
 * Take one step with the subtree, the console or the context. Return false if there is none now;
 * *NEXT is when there may be one (0 = never).
 */
bool domain_context_step(struct domain *domain, uint64_t now, uint64_t *next);

#endif
