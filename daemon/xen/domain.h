/*
 * A domain: one guest of this host, from when it is first seen until it is forgotten.
 *
 *   NEW        its name and UUID are not known yet
 *   ASKED      its state was asked for
 *   ON         its keys are read, its rings polled
 *   ENDING     it is dead, suspended, or published again: the rest is captured, within a second
 *   SUSPENDED  nothing is attached; asked each second whether it was resumed
 *   OVER       dead, and everything captured; forgotten when its nodes are gone
 */
#ifndef XEN_DOMAIN_H
#define XEN_DOMAIN_H

#include "attachment.h"
#include "guest.h"
#include "helper.h"
#include "host.h"
#include "limits.h"
#include "schedule.h"
#include "subtree.h"

#define DOMAIN_ATTACHMENTS_MAX 64u

enum phase { PHASE_NEW, PHASE_ASKED, PHASE_ON, PHASE_ENDING, PHASE_SUSPENDED, PHASE_OVER };
/* The phase after an end. */
enum after {
	AFTER_OVER,    /* none */
	AFTER_SUSPEND, /* perhaps the guest is resumed */
	AFTER_RENEW,   /* another run of the same domain, with the keys that it has */
	AFTER_RESET,   /* another run, once the domain runs again */
};

struct run_end {
	const char *kind;   /* of the capture; a constant */
	const char *reason; /* for people */
	enum after after;
};

struct domain {
	struct task task; /* first; runs every step that is no poll */
	struct domain *next;
	struct host *host;
	uint32_t domid;
	uint64_t serial;
	char *name;	/* printable */
	char *raw_name; /* the name as the toolstack wrote it; NULL = none */
	char *uuid;	/* NULL = none */
	enum phase phase;
	uint64_t since;	   /* CLOCK_MONOTONIC ns when the present phase began */
	uint64_t asked_at; /* SUSPENDED: when its state was last asked for */
	bool initial;	   /* was there when the collector began, and its run is not decided yet */
	bool listed;	   /* found by the running sweep */

	/* XenStore */
	bool watched;
	struct rate_limit rate_limit;
	uint64_t ignored_until; /* it changes its keys too fast: they are ignored until then; 0 = not */
	bool scan;		/* the list of its streams is to be read */
	bool renamed;
	bool check_uuid;    /* its UUID is to be read again: the domid may be used again */
	bool keys_gone;	    /* keys are gone; its state was asked for and will say why */
	uint64_t decide_by; /* CLOCK_MONOTONIC ns when to decide without an answer */
	uint32_t refused;   /* set of 1 << enum fault: logged already */
	struct attachment *attachments;
	size_t n_attachments;
	uint64_t pages;	 /* mapped */
	uint64_t map_at; /* CLOCK_MONOTONIC ns before which nothing more is mapped, because mapping stops the loop */
	bool offer;	 /* its memtrace-port is to be read */
	uint32_t memtrace_port; /* as last read; 0 = none */
	bool profiled;		/* a memory profile came from it in this run */

	/* run */
	struct guest guest;
	bool has_guest;
	bool without_ring;			   /* the run began without a ring */
	uint64_t renewed;			   /* CLOCK_MONOTONIC ns when the count of renewals began */
	unsigned renewals;			   /* runs since then that ended with another to follow */
	unsigned epoch;				   /* runs of the same boot, domid and UUID before this one */
	uint64_t numbers_used[VALUE_STREAMS / 64]; /* a bit for each stream number of the run: a run has each once */
	int64_t unfinished;			   /* capture of its end that a kill interrupted; 0 = none */
	bool found_dead;			   /* it was dead when found: ENDING says how it ended */
	struct run_end ending;

	/* context of its end */
	struct subtree subtree;
	bool reads_subtree;  /* the subtree is being read */
	int64_t capture;     /* capture whose context waits for the console; 0 = none */
	uint64_t console_at; /* when to ask for the console, or to give it up; 0 = not */
	bool console_asked;
	const char *context_reason; /* reason in that context */
};

/* Return a domain that has just been seen, or NULL without memory. */
struct domain *domain_new(struct host *host, uint32_t domid);
/* Take what is left of a domain that is ENDING, within its time. Called when the process ends. */
void domain_finish(struct domain *domain);
/* Detach everything and forget the domain. A run that has not ended is left as it is. */
void domain_free(struct domain *domain);

/* Note XenStore's event for PATH below its data/mprof, or for its name. */
void domain_on_keys(struct domain *domain, const char *path, uint64_t now);
void domain_on_name(struct domain *domain, uint64_t now);

/* Act on the domain's state; NULL = nobody can tell it. */
void domain_on_state(struct domain *domain, const struct domain_state *state, uint64_t now);
/* Act on a domain without nodes in XenStore. May free it. */
void domain_missing(struct domain *domain, uint64_t now);
/* Take the console log that was asked for. */
void domain_on_console(struct domain *domain, const struct helper_answer *answer);

/* Return true if a sweep should ask for its state. */
bool domain_wants_state(const struct domain *domain);

#endif
