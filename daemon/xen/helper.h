/*
 * The helper: a process with rights that the collector must not have. It holds a handle of
 * libxenctrl, which may do anything to any domain, and may read root's console logs. It is forked
 * before the collector drops its rights. It answers questions about states and consoles, and records
 * what vCPUs do if it is asked to. It reads nothing else.
 *
 * The collector sends a question and fetches the answer later, so the collector never waits. While
 * a helper hangs, and when it has died, it counts as a helper that knows nothing.
 */
#ifndef XEN_HELPER_H
#define XEN_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define HELPER_DOMIDS_MAX  256u
#define HELPER_CONSOLE_MAX 16384u /* bytes of the end of a console log */
#define HELPER_NAME_MAX	   128u

enum domain_flag {
	DOMAIN_KNOWN = 1, /* Xen knows the domid; if not set, flags and reason are 0 */
	DOMAIN_DYING = 2,
	/*
	 * Stopped, crashed or suspended: REASON says which; stays set after the guest was
	 * restarted as another domain.
	 */
	DOMAIN_SHUTDOWN = 4,
	DOMAIN_PAUSED = 8,
};

/* Xen's shutdown reasons (SHUTDOWN_* in xen/include/public/sched.h). */
enum shutdown_reason {
	SHUTDOWN_POWEROFF,
	SHUTDOWN_REBOOT,
	SHUTDOWN_SUSPEND,
	SHUTDOWN_CRASH,
	SHUTDOWN_WATCHDOG,
	SHUTDOWN_SOFT_RESET,
};

struct domain_state {
	uint32_t domid;
	uint32_t flags;	 /* set of enum domain_flag */
	uint32_t reason; /* why it shut down, if DOMAIN_SHUTDOWN is set; the number may be unknown */
};

struct helper;
struct vcpu_area;

struct helper_options {
	const char *console_logs; /* directory of xenconsoled's logs (guest-NAME.log); "" = read none */
	/* Memory that the helper inherits and records vCPUs in; NULL = it records none. */
	struct vcpu_area *vcpu_area;
	uint64_t vcpu_interval; /* time between samples, ns */
};

/*
 * Fork the helper. No other thread may exist yet. OPTIONS are borrowed for the call; the area must be
 * valid in the helper, which is a copy of this process. The kernel kills the helper when
 * the calling thread ends. Wait at most 5 s for the helper's first message; if none comes, the
 * helper counts as gone, which is no failure. Return 0, with the helper in *HP, or -errno.
 */
int helper_start(struct helper **hp, const struct helper_options *options);
struct helper *helper_stop(struct helper *helper); /* accepts NULL */
CLEANUP_DEFINE(struct helper, helper_stop)

/*
 * Return whether the helper can tell states of domains: it runs, and it has found libxenctrl. If
 * false, *SENTENCE says why (borrowed). SENTENCE may be NULL.
 */
bool helper_knows_states(const struct helper *helper, const char **sentence);

/* Return a descriptor that becomes readable when an answer has come or the helper is gone. */
int helper_fd(const struct helper *helper);

/*
 * Ask for the states of N domids, at most HELPER_DOMIDS_MAX. The answer omits a domid whose state
 * Xen did not tell, and omits all domids if libxenctrl was not found. A domid that does not exist
 * is in the answer, without DOMAIN_KNOWN. The answer carries TAG. Return 0, -EAGAIN (too many open questions: ask later) or
 * -EPIPE (the helper is gone).
 */
int helper_ask_states(struct helper *helper, uint64_t tag, const uint32_t *domids, size_t n);
/*
 * Ask for the end of the console log of the domain NAME. The answer carries TAG. Answers come in
 * the order of the questions. Return values as helper_ask_states().
 */
int helper_ask_console(struct helper *helper, uint64_t tag, const char *name);

/*
 * Ask to begin to record the vCPUs of DOMID, which is not 0, in SLOT of the area; or to end that, if
 * DOMID is 0. Return values as helper_ask_states().
 */
int helper_ask_vcpu(struct helper *helper, uint32_t slot, uint32_t domid);

struct helper_answer {
	bool is_console, is_vcpu;
	size_t n; /* number of states, bytes of the log, or number of vCPUs */
	struct domain_state states[HELPER_DOMIDS_MAX];
	uint64_t tag; /* states, console: as in the question; vCPUs: the slot */
	/*
	 * console: 0; -ENOENT if there is no log, -EINVAL for an impossible name, or another -errno.
	 * vCPUs: as vcpu_recorder_begin() and vcpu_recorder_end(); -ENOSYS without area or libxenctrl
	 */
	int error;
	bool complete; /* console: CONSOLE has the whole log */
	char console[HELPER_CONSOLE_MAX];
};

/* Fetch the next answer into *ANSWER. Return 1, 0 (none now), or -EPIPE (the helper is gone). */
int helper_next(struct helper *helper, struct helper_answer *answer);

#endif
