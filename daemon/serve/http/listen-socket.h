/* Sockets to listen on, and which addresses are allowed. */
#ifndef SERVE_LISTEN_SOCKET_H
#define SERVE_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

struct listen_socket {
	int fd;
	bool tcp;
	char *path;	   /* of a Unix socket that was bound here, to be removed; NULL = none */
	char address[128]; /* for people */
};

/* Open what TEXT says: unix:PATH or HOST:PORT.  SENTENCE says what was wrong.  0 or -errno. */
int listen_socket_open(struct listen_socket *l, const char *text, char *sentence, size_t size);
/* Take FD, a listening socket of systemd's, over. */
int listen_socket_adopt(struct listen_socket *l, int fd, char *sentence, size_t size);

#endif
