/* Open sockets to listen on, and check that their addresses are allowed. */
#ifndef SERVE_LISTEN_SOCKET_H
#define SERVE_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

struct listen_socket {
	int fd;
	bool tcp;
	char *path;	   /* path of a Unix socket that was created here and must be removed; owned; NULL = none */
	char address[128]; /* for messages */
};

/*
 * Open the socket TEXT: unix:PATH or HOST:PORT. Return 0; or -errno, with a sentence in SENTENCE
 * (SIZE bytes).
 */
int listen_socket_open(struct listen_socket *l, const char *text, char *sentence, size_t size);
/*
 * Take over FD, a listening socket that systemd has passed. Return 0; or -errno, with a sentence in
 * SENTENCE (SIZE bytes).
 */
int listen_socket_adopt(struct listen_socket *l, int fd, char *sentence, size_t size);

#endif
