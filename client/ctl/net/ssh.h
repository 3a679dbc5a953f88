/*
 * Connections to the Unix socket of another machine, over the user's ssh: it runs
 * `mprofctl --stdio-proxy` there. Nothing listens on a network.
 */
#ifndef CTL_SSH_H
#define CTL_SSH_H

#include <stdbool.h>
#include <sys/types.h>

#include "host.h"

struct ssh {
	char path[108]; /* of the listener, for CURLOPT_UNIX_SOCKET_PATH; always the same; "" = not chosen */
	int listener;	/* a Unix socket for one connection of this process; -1 = none; owned */
	pid_t pid;	/* the present ssh, or 0 */
	int error;	/* errno of the last ssh_accept(), 0 = it began */
};

#define SSH_NONE {.listener = -1}

/* Choose S->path, if it is not chosen yet. No file is made. Return false if that is impossible. */
bool ssh_choose_path(struct ssh *s);
/*
 * Listen at S->path for a connection that the caller makes next. Return a socket for it, which the
 * caller connects and closes, or -1.
 */
int ssh_expect(struct ssh *s);
/*
 * If there is a listener and this process has connected to it, start ssh to HOST, which is of the kind
 * HOST_SSH, with the other end as its standard input and output; remove the listener, and end an ssh
 * that was started before. If ssh cannot start, the connection is closed.
 */
void ssh_accept(struct ssh *s, const struct host *host);
/* End the ssh, and remove the listener. */
void ssh_close(struct ssh *s);
/*
 * The connection to HOST broke before an answer came. Wait until ssh ends, and report the reason. Return
 * an exit code.
 */
int ssh_complain(struct ssh *s, const struct host *host);

#endif
