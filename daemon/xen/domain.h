/*
 * A domain: what becomes of one guest of this host, from when it is first seen until it is forgotten.
 *
 *   NEW        who it is is not known yet
 *   ASKED      its state was asked for
 *   ON         its keys are read, its rings looked at
 *   ENDING     it is dead, suspended, or has published anew: what is left is taken, within a second
 *   SUSPENDED  nothing is held; asked each second whether it goes on
 *   OVER       dead, and all taken; forgotten when its nodes are gone
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
/* What comes after an end. */
enum after {
	AFTER_OVER,    /* nothing */
	AFTER_SUSPEND, /* perhaps it goes on */
	AFTER_RENEW,   /* another run of the same domain, with what it publishes */
	AFTER_RESET,   /* the same, once it runs again */
};

struct run_end {
	const char *kind;   /* of the capture; constants */
	const char *reason; /* for people */
	enum after after;
};

struct domain {
	struct task task; /* first: whatever is due that is no look */
	struct domain *next;
	struct host *host;
	uint32_t domid;
	uint64_t serial;
	char *name;  /* printable */
	char *given; /* the same as the toolstack wrote it, or NULL: it wrote none */
	char *uuid;  /* NULL = none */
	enum phase phase;
	uint64_t since;	   /* CLOCK_MONOTONIC ns of the present life's begin */
	uint64_t asked_at; /* SUSPENDED: when it was last asked for */
	bool initial;	   /* was there when the collector began, and its run is not decided yet */
	bool listed;	   /* by the sweep that is under way */

	/* XenStore */
	bool watched;
	struct rate_limit rate_limit;
	uint64_t rest; /* it changes its keys too fast: not watched until then; 0 = it does not */
	bool scan;     /* the list of its streams is to be read */
	bool renamed;
	bool check;	    /* its UUID is to be read again: a domid is used again */
	bool vanishing;	    /* keys are gone; its state, which was asked for, says what that means ... */
	uint64_t vanish_by; /* ... unless it is not told by then, CLOCK_MONOTONIC ns */
	uint32_t refused;   /* 1 << enum fault: said so already */
	struct attachment *attachments;
	size_t n_attachments;
	uint64_t pages;		/* mapped */
	uint64_t map_at;	/* CLOCK_MONOTONIC ns: nothing more is mapped before, since mapping stops the loop */
	bool offer;		/* its memtrace-port is to be read */
	uint32_t memtrace_port; /* as read last; 0 = none */
	bool profiled;		/* in this run a memory profile came from it */

	/* the run */
	struct guest guest;
	bool has_guest;
	bool held;	   /* the run began without a ring */
	uint64_t renewed;  /* CLOCK_MONOTONIC ns: since then ... */
	unsigned renewals; /* ... its runs ended so often with another to follow */
	unsigned epoch;	   /* runs of the same boot, domid and UUID before this one */
	uint64_t had[VALUE_STREAMS /
		     64];   /* a bit for each number that a stream of the run has had: a run has each once */
	int64_t unfinished; /* a kill came into this capture of its end; 0 = into none */
	bool found_dead;    /* it was dead when it was found: ENDING tells of what */
	struct run_end ending;

	/* what is told of its end */
	struct subtree subtree;
	bool reading;	  /* the subtree */
	int64_t capture;  /* whose context waits for the console; 0 = none */
	uint64_t console; /* when to ask for it, or to give it up; 0 = not */
	bool asked;
	const char *told; /* the reason in that context */
};

/* A domain that has just been seen.  NULL: no memory. */
struct domain *domain_new(struct host *host, uint32_t domid);
/* The process ends: if it is ENDING, take now what is left, within the time that it has for that. */
void domain_finish(struct domain *domain);
/* Let go of all that is held of it and forget it; a run that has not ended is left as it is. */
void domain_free(struct domain *domain);

/* XenStore's event for its data/mprof came, with this PATH; or for its name. */
void domain_on_keys(struct domain *domain, const char *path, uint64_t now);
void domain_on_name(struct domain *domain, uint64_t now);

/* This is how it is; STATE NULL: nobody can tell. */
void domain_on_state(struct domain *domain, const struct domain_state *state, uint64_t now);
/* It has no nodes in XenStore any more.  May free it. */
void domain_missing(struct domain *domain, uint64_t now);
/* The console log that was asked for. */
void domain_on_console(struct domain *domain, const struct helper_answer *answer);

/* Should its state be asked for with the others'? */
bool domain_wants_state(const struct domain *domain);

#endif
