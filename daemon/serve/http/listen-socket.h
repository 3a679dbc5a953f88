/* Open sockets to listen on, and check that their addresses are allowed. */
#ifndef SERVE_LISTEN_SOCKET_H
#define SERVE_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

struct listen_socket {
	int fd;
	bool tcp;
	bool tls;	   /* HTTPS */
	char *path;	   /* path of a Unix socket that was created here and must be removed; owned; NULL = none */
	char address[128]; /* for messages */
};

/*
 * Open the socket TEXT: unix:PATH, HOST:PORT or https:HOST:PORT. TLS: HTTPS is configured, and so
 * foreign addresses are allowed for it. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int listen_socket_open(struct listen_socket *l, const char *text, bool tls, char *sentence, size_t size);
/*
 * Take over FD, a listening socket that systemd has passed under NAME; "https" makes it a socket for
 * HTTPS. TLS as above. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int listen_socket_adopt(struct listen_socket *l, int fd, const char *name, bool tls, char *sentence, size_t size);

#endif
