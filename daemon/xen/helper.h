/*
 * A process beside the collector with what the collector must not have: libxenctrl's handle, which
 * may do anything to any domain, and the right to read root's console logs. It is forked before
 * rights are dropped. It answers two questions and reads nothing else.
 *
 * Questions are sent and answers are fetched later, so nobody waits. A helper that hangs or has
 * died counts as one that cannot tell.
 */
#ifndef XEN_HELPER_H
#define XEN_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define HELPER_DOMIDS_MAX  256u
#define HELPER_CONSOLE_MAX 16384u /* bytes of a console log's end */
#define HELPER_NAME_MAX	   128u

enum domain_flag {
	DOMAIN_KNOWN = 1, /* Xen knows the domid; otherwise the rest is 0 */
	DOMAIN_DYING = 2,
	DOMAIN_SHUTDOWN =
		4, /* stopped, crashed or suspended, REASON says why; also after it was restarted as another domain */
	DOMAIN_PAUSED = 8,
};

/* Xen's shutdown reasons. */
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
	uint32_t reason; /* with DOMAIN_SHUTDOWN; may be an unknown number */
};

struct helper;

/*
 * Fork the helper, before there is another thread. CONSOLE_LOGS is the directory of xenconsoled's
 * logs (guest-NAME.log), borrowed for the call; "" = read none. The helper ends when the
 * collector's calling thread does, however that ends. Wait at most 5 s for its first message;
 * without one the helper counts as gone, which is no failure. Return 0 or -errno.
 */
int helper_start(struct helper **hp, const char *console_logs);
struct helper *helper_stop(struct helper *helper); /* accepts NULL */
CLEANUP_DEFINE(struct helper, helper_stop)

/*
 * Return true if libxenctrl was found; without it states are not known. Valid once helper_start has
 * returned. If false, *SENTENCE says why (borrowed).
 */
bool helper_knows_states(const struct helper *helper, const char **sentence);

/* Return a descriptor that is readable when an answer is there, or the helper is gone. */
int helper_fd(const struct helper *helper);

/*
 * Ask for the states of N domids, at most HELPER_DOMIDS_MAX. The answer lacks each domid whose
 * state Xen did not tell, and every domid if states are not known; that is not the same as a domid
 * that Xen does not know. Return 0, -EAGAIN (too many open questions: ask later) or -EPIPE (the
 * helper is gone).
 */
int helper_ask_states(struct helper *helper, const uint32_t *domids, size_t n);
/*
 * Ask for the end of the console log of the domain NAME. TAG comes back with the answer. Answers
 * come in the order of questions. Return values as above.
 */
int helper_ask_console(struct helper *helper, uint64_t tag, const char *name);

struct helper_answer {
	bool is_console;
	size_t n; /* states, or bytes of the log */
	struct domain_state states[HELPER_DOMIDS_MAX];
	uint64_t tag;
	int error;     /* console: 0 or -errno: -ENOENT if nobody logs, -EINVAL for a name that no log can have */
	bool complete; /* console: the log is no longer than this */
	char console[HELPER_CONSOLE_MAX];
};

/* Fetch the next answer. Return 1, 0 (none now), or -EPIPE (the helper is gone). */
int helper_next(struct helper *helper, struct helper_answer *answer);

#endif
