/*
 * The client of a daemon's control socket (schema/control.md): commit notices come in, requests go out.
 *
 * That daemon may be absent, and may restart: notice_tick connects again.  What was asked before is then answered by lost().
 */
#ifndef COMMON_NOTICE_H
#define COMMON_NOTICE_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct notice;

struct notice_calls {
	/* Something was committed.  NULL: notices are not asked for. */
	void (*commit)(void *context);
	/* SENTENCE, borrowed, says from now on why guests may not be found; "" = nothing is wrong.  NULL: nobody wants to know. */
	void (*source)(void *context, const char *sentence);
	/* The answer to TAG; MESSAGE is borrowed. */
	void (*answer)(void *context, uint64_t tag, const struct message *message);
	/* The connection is gone: no answer comes to anything that was asked. */
	void (*lost)(void *context);
};

/* PATH is the socket's, and it says whose it is; CALLS and CONTEXT are borrowed.  Connects where that is possible.  0 or -errno. */
int notice_new(struct notice **np, sd_event *event, const char *path, const struct notice_calls *calls, void *context);
struct notice *notice_free(struct notice *n);
CLEANUP_DEFINE(struct notice, notice_free)

/* Connect where it is not connected.  To be called about once a second. */
void notice_tick(struct notice *n);
bool notice_connected(const struct notice *n);

/* A tag that was not used yet. */
uint64_t notice_tag(struct notice *n);
/* Send what W holds, connecting first where it is not connected.  False: it did not fit, the daemon is not there, or does not read. */
bool notice_send(struct notice *n, const struct message_writer *w);

#endif
