/*
 * A process beside the collector that keeps what the collector must not: libxenctrl's handle, which may do anything to any domain, and
 * the right to read root's console logs.  Forked before rights are dropped.  It answers two questions and reads nothing else.
 *
 * Questions are sent and answers fetched later, so that nobody waits: a helper that hangs or has died is a helper that does not know.
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
	DOMAIN_KNOWN = 1, /* Xen knows the domid; without this the rest is 0 */
	DOMAIN_DYING = 2,
	DOMAIN_SHUTDOWN =
		4, /* it stopped, crashed or suspended: REASON says why; also after it was restarted as another domain */
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
	uint32_t flags;	 /* enum domain_flag */
	uint32_t reason; /* with DOMAIN_SHUTDOWN; may be a number that we do not know */
};

struct helper;

/*
 * Fork it, before there is another thread.  CONSOLE_LOGS: the directory of xenconsoled's logs (guest-NAME.log), borrowed for the call; ""
 * reads none.  It ends when the collector's calling thread does, however that ends.  Waits at most 5 s for its first word; one that does not
 * come is no failure, but a helper that is gone.  -errno.
 */
int helper_start(struct helper **hp, const char *console_logs);
struct helper *helper_stop(struct helper *helper); /* NULL too */
CLEANUP_DEFINE(struct helper, helper_stop)

/* Was libxenctrl found?  Without it states are not known.  Known once helper_start has returned; on false *SENTENCE says why (borrowed). */
bool helper_knows_states(const struct helper *helper, const char **sentence);

/* Readable when an answer is there, or when the helper is gone. */
int helper_fd(const struct helper *helper);

/*
 * Ask for the states of N domids, at most HELPER_DOMIDS_MAX.  -EAGAIN: too many questions are open, ask later.  -EPIPE: it is gone.
 * A domid whose state Xen did not tell (or none, where states are not known) is not among the answer's: nothing is known of it, which
 * is not the same as a domid that Xen does not know.
 */
int helper_ask_states(struct helper *helper, const uint32_t *domids, size_t n);
/* Ask for the end of the console log of the domain NAME; TAG comes back with the answer.  As above.  Answers come in the order of questions. */
int helper_ask_console(struct helper *helper, uint64_t tag, const char *name);

struct helper_answer {
	bool is_console;
	size_t n; /* states, or bytes of the log */
	struct domain_state states[HELPER_DOMIDS_MAX];
	uint64_t tag;
	int error;     /* console: 0 or -errno: -ENOENT where nobody logs, -EINVAL for a name that no log can have */
	bool complete; /* console: the log is not longer than this */
	char console[HELPER_CONSOLE_MAX];
};

/* The next answer: 1, 0 (none now), or -EPIPE: the helper is gone. */
int helper_next(struct helper *helper, struct helper_answer *answer);

#endif
