/*
 * TLS handshakes that wait for their client.
 *
 * libmicrohttpd calls GnuTLS without pause as long as a handshake is incomplete, also while the client
 * has sent nothing more. A single client that stops in its handshake would keep the processor busy. So
 * such a connection is suspended until its socket is ready.
 *
 * Invariants: only clients in CLIENT_HEADER before their first request line are suspended here. A
 * suspended client has its event source, which resumes it; client_end() and listener_stop() do, too.
 */
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "client.h"
#include "http-state.h"

#define WATCHED ((uint32_t)(EPOLLRDHUP | EPOLLET))

void handshake_begin(struct client *c)
{
	c->handshake = HANDSHAKE_RUNS;
	c->listener->handshakes++;
}

void handshake_end(struct client *c)
{
	c->listener->handshakes -= c->handshake == HANDSHAKE_RUNS;
	c->handshake = HANDSHAKE_NONE;
}

void handshake_resume(struct client *c)
{
	if (c->handshake != HANDSHAKE_SUSPENDED)
		return;
	sd_event_source_set_io_events(c->hangup, WATCHED);
	handshake_begin(c);
	MHD_resume_connection(c->connection);
	c->listener->resumed = true;
}

/* Suspend C, unless it has sent bytes that GnuTLS has not read. */
static void suspend_if_waiting(struct client *c)
{
	gnutls_session_t session = client_session(c->connection);
	uint32_t for_what;
	int unread = 0;

	if (!session || gnutls_record_check_pending(session) || ioctl(c->fd, FIONREAD, &unread) < 0 || unread)
		return;
	for_what = gnutls_record_get_direction(session) ? EPOLLOUT : EPOLLIN;
	if (sd_event_source_set_io_events(c->hangup, WATCHED | for_what) < 0)
		return;
	handshake_end(c);
	c->handshake = HANDSHAKE_SUSPENDED;
	MHD_suspend_connection(c->connection);
}

void handshakes_suspend(struct listener *l)
{
	for (struct client *c = l->handshakes ? l->clients : NULL; c; c = c->next)
		if (c->handshake == HANDSHAKE_RUNS && c->hangup && !c->ended && !c->finished)
			suspend_if_waiting(c);
}

void handshakes_resume(struct listener *l)
{
	for (struct client *c = l->clients; c; c = c->next)
		handshake_resume(c);
}
