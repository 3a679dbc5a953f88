/*
 * The daemon's side of a control socket (schema/control.md).
 *
 * Clients are mprofd-http and any process that may write to the socket. Their messages may be
 * malformed. A client costs bounded memory: the server stops reading from a client that sends too
 * fast, and drops an answer that the client does not read. The server itself handles the verb
 * watch; control_request() handles all other verbs.
 */
#ifndef COMMON_CONTROL_SERVER_H
#define COMMON_CONTROL_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct control_server;

/*
 * The client that sent a request, and the tag of the request. If the client has left, its answer is
 * dropped.
 */
struct control_asker {
	uint64_t client;
	uint64_t tag;
};

/* Handle the request M, which is valid during the call. Answer ASKER, during the call or later. */
typedef void control_request(void *context, struct control_asker asker, const struct message *m);

/*
 * Listen on PATH, and create its directory if it is missing. REQUEST is called with CONTEXT for
 * each request. Return 0, with the server in *SP; or -errno with a sentence in SENTENCE (SIZE
 * bytes).
 */
int control_server_open(struct control_server **sp, sd_event *event, const char *path, control_request *request,
			void *context, char *sentence, size_t size);
struct control_server *control_server_close(struct control_server *s); /* accepts NULL */
CLEANUP_DEFINE(struct control_server, control_server_close)

/*
 * Begin an answer in the server's only answer buffer. Add to the answer and pass it to
 * control_send() before the next answer begins.
 */
struct message_writer control_answer(struct control_server *s, struct control_asker asker);
void control_send(struct control_server *s, struct control_asker asker, const struct message_writer *w);
void control_ok(struct control_server *s, struct control_asker asker);
void control_error(struct control_server *s, struct control_asker asker, unsigned status, const char *sentence);

/* Tell every client that watches that the commit number SERIAL was made. */
void control_notify(struct control_server *s, uint64_t serial);
/*
 * Send SENTENCE to every client that watches, and to those that begin to watch later. SENTENCE says
 * why guests may be missing; "" = none is missing. SENTENCE is copied.
 */
void control_announce(struct control_server *s, const char *sentence);

#endif
