/*
 * The client of a daemon's control socket (schema/control.md): it receives notices of commits, and
 * sends requests and receives their answers. The daemon may be absent and may restart:
 * notice_tick() connects again.
 */
#ifndef COMMON_NOTICE_H
#define COMMON_NOTICE_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct notice;

struct notice_calls {
	/*
	 * A commit was made. If the pointer is NULL, the client does not ask for notices of
	 * commits.
	 */
	void (*commit)(void *context);
	/*
	 * The source of guests has a problem, so guests may be missing; SENTENCE says which
	 * problem; "" = none. SENTENCE is valid during the call. The pointer may be NULL.
	 */
	void (*source)(void *context, const char *sentence);
	/* MESSAGE is the answer to the request with TAG. MESSAGE is valid during the call. */
	void (*answer)(void *context, uint64_t tag, const struct message *message);
	/* The connection is lost. Requests that were not answered yet get no answer. */
	void (*lost)(void *context);
};

/*
 * Create a client of the socket at PATH and try to connect; failing to connect is no error. Log
 * messages name PATH. CALLS and CONTEXT stay the caller's and must outlive the client. Return 0,
 * with the client in *NP, or -errno.
 */
int notice_new(struct notice **np, sd_event *event, const char *path, const struct notice_calls *calls, void *context);
struct notice *notice_free(struct notice *n);
CLEANUP_DEFINE(struct notice, notice_free)

/* Connect if not connected. Call it about once a second. */
void notice_tick(struct notice *n);
bool notice_connected(const struct notice *n);

/* Return a tag for the next request, different from all earlier ones. */
uint64_t notice_tag(struct notice *n);
/*
 * Send the message that W has built; connect first if needed. Return false if the message did not
 * fit into W's buffer, or if the daemon is absent or does not read.
 */
bool notice_send(struct notice *n, const struct message_writer *w);

#endif
