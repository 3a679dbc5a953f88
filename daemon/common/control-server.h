/*
 * The daemon's side of a control socket (schema/control.md).
 *
 * Clients are mprofd-http and any process that may write to the socket. They may ask, but their
 * messages may be wrong. A client costs bounded memory. The server throttles a client by not
 * reading from it, and drops answers that a client does not read. The server handles the verb watch
 * itself.
 */
#ifndef COMMON_CONTROL_SERVER_H
#define COMMON_CONTROL_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "message.h"

struct control_server;

/* The client and the tag that an answer goes to. If the client is gone, the answer is dropped. */
struct control_asker {
	uint64_t client;
	uint64_t tag;
};

/* Handle the request M, which is valid during the call. Answer ASKER during the call or later. */
typedef void control_request(void *context, struct control_asker asker, const struct message *m);

/*
 * Listen on PATH. Make its directory if it is missing. Return 0; or -errno with a sentence in
 * SENTENCE (SIZE bytes).
 */
int control_server_open(struct control_server **sp, sd_event *event, const char *path, control_request *request,
			void *context, char *sentence, size_t size);
struct control_server *control_server_close(struct control_server *s); /* accepts NULL */
CLEANUP_DEFINE(struct control_server, control_server_close)

/* Begin an answer in the server's buffer, which holds one answer. Add to it and send it. */
struct message_writer control_answer(struct control_server *s, struct control_asker asker);
void control_send(struct control_server *s, struct control_asker asker, const struct message_writer *w);
void control_ok(struct control_server *s, struct control_asker asker);
void control_error(struct control_server *s, struct control_asker asker, unsigned status, const char *sentence);

/* Tell every client that watches of the commit SERIAL. */
void control_notify(struct control_server *s, uint64_t serial);
/*
 * Send SENTENCE to every client that watches, now or later; "" = all is well. SENTENCE is copied.
 */
void control_announce(struct control_server *s, const char *sentence);

#endif
