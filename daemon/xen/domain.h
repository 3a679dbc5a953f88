/*
 * A domain: a guest of this host, from the moment when mprofd first sees it until mprofd forgets
 * it. Its phases:
 *
 *  NEW        its name and UUID are not known yet
 *  ASKED      mprofd has asked the helper for its state
 *  ON         its keys are read and its rings are polled
 *  ENDING     it is dead, suspended, or publishes a new ring: a capture takes the bytes that are
 *             left in its rings, within a second
 *  SUSPENDED  nothing is attached; the helper is asked each second whether it was resumed
 *  OVER       dead, and everything is captured; forgotten when its XenStore nodes are gone
 */
#ifndef XEN_DOMAIN_H
#define XEN_DOMAIN_H

#include "attachment.h"
#include "guest.h"
#include "helper.h"
#include "limits.h"
#include "schedule.h"
#include "subtree.h"
#include "vcpu-track.h"
#include "xen-host.h"

#define DOMAIN_ATTACHMENTS_MAX 64u

enum phase { PHASE_NEW, PHASE_ASKED, PHASE_ON, PHASE_ENDING, PHASE_SUSPENDED, PHASE_OVER };
/* How a domain goes on after an end. */
enum after {
	AFTER_OVER,    /* not at all */
	AFTER_SUSPEND, /* the guest may be resumed, in the same run */
	AFTER_RENEW,   /* another run of the domain begins, with the keys that it has now */
	AFTER_RESET,   /* another run begins as soon as the domain runs again */
};

struct run_end {
	const char *kind;   /* kind of the capture, "crash" for instance; a constant */
	const char *reason; /* reason for the log and the context; a constant */
	enum after after;
};

struct domain {
	struct task task; /* first member; runs all of the domain's work except polls */
	struct domain *next;
	struct host *host;
	uint32_t domid;
	uint64_t serial; /* number of the domain, never used again; part of its watches' tokens */
	char *name;	 /* the name, with unprintable bytes as \xNN */
	char *raw_name;	 /* the name as the toolstack wrote it; NULL = none */
	char *uuid;	 /* NULL = none */
	enum phase phase;
	uint64_t since;	   /* when the current phase began, CLOCK_MONOTONIC ns */
	uint64_t made_at;  /* when mprofd found it, CLOCK_MONOTONIC ns */
	uint64_t asked_at; /* SUSPENDED: when the helper was last asked for the state, CLOCK_MONOTONIC ns */
	bool initial;	   /* the domain existed when mprofd started, and domain_decide() was not called yet */
	bool listed;	   /* the current sweep found it in XenStore */

	/* State of the domain's XenStore keys. */
	bool watched;
	struct rate_limit rate_limit;
	/* End of the time in which its keys are ignored, CLOCK_MONOTONIC ns; 0 = they are not. */
	uint64_t ignored_until;
	bool scan; /* the list of its streams must be read */
	/*
	 * A stream was refused since that list was last read, because the domain had
	 * DOMAIN_ATTACHMENTS_MAX attachments.
	 */
	bool left_out;
	/*
	 * Set of stream numbers whose keys were read and gave nothing to attach. They are passed over
	 * when the list is read, until an event reports a write to their keys.
	 */
	uint64_t numbers_idle[VALUE_STREAMS / 64];
	bool renamed;
	bool check_uuid;     /* its UUID must be read again, because the domid may belong to another domain now */
	bool keys_gone;	     /* commit keys are gone, and the helper was asked why */
	uint64_t alive_from; /* an answer says that the domain lives if it was asked for since, CLOCK_MONOTONIC ns */
	uint64_t decide_by;  /* when to decide without the helper's answer, CLOCK_MONOTONIC ns */
	uint32_t refused;    /* set of 1 << enum fault: faults that were logged already */
	struct attachment *attachments;
	size_t n_attachments;
	unsigned clock_steps; /* how often polls of its rings found that the guest's clock had gone back */
	uint64_t pages;	      /* number of mapped pages */
	uint64_t map_at; /* when further pages may be mapped, CLOCK_MONOTONIC ns, because mapping blocks the loop */
	bool offer;	 /* memtrace-port must be read */
	uint32_t memtrace_port; /* memtrace-port as last read; 0 = none */
	bool profiled;		/* mprofd-sink received a memory profile of it in this run */

	/* The current run. */
	struct guest guest;
	bool has_guest;
	bool without_ring; /* the run began without a ring */
	uint64_t renewed;  /* when RENEWALS began to count, CLOCK_MONOTONIC ns */
	/* Runs that were followed by another run (AFTER_RENEW, AFTER_RESET) since RENEWED. */
	unsigned renewals;
	/* Greater than that of each earlier run with the same boot, domid and UUID. */
	uint64_t epoch;
	uint64_t numbers_used[VALUE_STREAMS / 64]; /* set of the stream numbers that this run has used */
	/* Capture of the run's end that mprofd had begun when it was killed; 0 = none. */
	int64_t unfinished;
	/* The domain was already dead when mprofd read its state: ENDING says how it ended. */
	bool found_dead;
	struct run_end ending;

	struct vcpu_track vcpu;

	/* The context of the run's capture. */
	struct subtree subtree;
	bool reads_subtree; /* the subtree is being read */
	int64_t capture;    /* capture whose context is not complete; 0 = none */
	/* When to ask for the console, or to stop waiting for it, CLOCK_MONOTONIC ns; 0 = never. */
	uint64_t console_at;
	bool console_asked;
	const char *context_reason; /* reason to write into the context */
};

/* Return a new domain in phase NEW, or NULL without memory. HOST owns the domain. */
struct domain *domain_new(struct host *host, uint32_t domid);
/*
 * Complete the capture of a domain in phase ENDING, within the time that it has. To be called when
 * mprofd ends.
 */
void domain_finish(struct domain *domain);
/*
 * Detach all rings and free the domain. The archive's run keeps its state, so the next mprofd can
 * continue it.
 */
void domain_free(struct domain *domain);

/* Note the event of a write to PATH, relative to the domain's data/mprof. */
void domain_on_keys(struct domain *domain, const char *path, uint64_t now);
void domain_on_name(struct domain *domain, uint64_t now);

/* Act on STATE, the domain's state, asked for at ASKED (CLOCK_MONOTONIC ns); NULL = the helper cannot say. */
void domain_on_state(struct domain *domain, const struct domain_state *state, uint64_t asked, uint64_t now);
/* Act on a domain whose nodes are gone from XenStore. May free the domain. */
void domain_missing(struct domain *domain, uint64_t now);
/* Add the console log that the helper has read to the capture's context. */
void domain_on_console(struct domain *domain, const struct helper_answer *answer);

/* Return whether a sweep should ask the helper for the domain's state. */
bool domain_wants_state(const struct domain *domain);

#endif
