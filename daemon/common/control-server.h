/*
 * The daemon's side of a control socket (schema/control.md).
 *
 * Clients are mprofd-http and whoever else may write to the socket: trusted to ask, not to be right.  A client costs a bounded amount of
 * memory, is throttled by not reading it, and one that does not read its answers loses them.  The verb watch is answered here.
 */
#ifndef COMMON_CONTROL_SERVER_H
#define COMMON_CONTROL_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct control_server;

/* Whom to answer, and what: stays valid when the client is gone, and means nobody then. */
struct control_asker {
	uint64_t client;
	uint64_t tag;
};

/* A request came; M is borrowed.  It is answered now, or later by the same ASKER. */
typedef void control_request(void *context, struct control_asker asker, const struct message *m);

/* Listen on PATH, whose directory is made where it is not there.  On failure -errno and a SENTENCE of SIZE bytes. */
int control_server_open(struct control_server **sp, sd_event *event, const char *path, control_request *request,
			void *context, char *sentence, size_t size);
struct control_server *control_server_close(struct control_server *s); /* NULL too */
CLEANUP_DEFINE(struct control_server, control_server_close)

/* Begin an answer in the server's buffer (one at a time), to be added to and sent. */
struct message_writer control_answer(struct control_server *s, struct control_asker asker);
void control_send(struct control_server *s, struct control_asker asker, const struct message_writer *w);
void control_ok(struct control_server *s, struct control_asker asker);
void control_error(struct control_server *s, struct control_asker asker, unsigned status, const char *sentence);

/* Tell all who watch that there was a commit. */
void control_notify(struct control_server *s, uint64_t serial);
/* Tell all who watch, and whoever begins to, the SENTENCE that holds from now on.  "" = none does.  It is copied. */
void control_announce(struct control_server *s, const char *sentence);

#endif
