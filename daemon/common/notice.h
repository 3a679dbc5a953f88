/*
 * The client of a daemon's control socket (schema/control.md): it receives commit notices and sends
 * requests. The daemon may be absent and may restart: notice_tick reconnects. After a lost
 * connection, lost() answers the open requests.
 */
#ifndef COMMON_NOTICE_H
#define COMMON_NOTICE_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct notice;

struct notice_calls {
	/* Report a commit. NULL: do not ask for notices. */
	void (*commit)(void *context);
	/*
	 * Report why guests may be missing; "" = all is well. SENTENCE is valid during the call.
	 * NULL: not wanted.
	 */
	void (*source)(void *context, const char *sentence);
	/* Report the answer to TAG. MESSAGE is valid during the call. */
	void (*answer)(void *context, uint64_t tag, const struct message *message);
	/* Report that the connection is gone: open requests get no answer. */
	void (*lost)(void *context);
};

/*
 * Create a client of the socket at PATH and try to connect. An error names PATH. CALLS and CONTEXT
 * stay the caller's and must outlive the client. Return 0 or -errno.
 */
int notice_new(struct notice **np, sd_event *event, const char *path, const struct notice_calls *calls, void *context);
struct notice *notice_free(struct notice *n);
CLEANUP_DEFINE(struct notice, notice_free)

/* Connect if not connected. Call it about once a second. */
void notice_tick(struct notice *n);
bool notice_connected(const struct notice *n);

/* Return an unused tag. */
uint64_t notice_tag(struct notice *n);
/*
 * Send W's message; connect first if needed. Return false if the message did not fit, or the daemon
 * is absent or does not read.
 */
bool notice_send(struct notice *n, const struct message_writer *w);

#endif
