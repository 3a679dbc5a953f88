/*
 * Open sockets to listen on. Plain HTTP is allowed on Unix sockets and on loopback addresses only:
 * elsewhere tokens and traces could be read on the way. HTTPS is allowed everywhere, with access
 * control.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "listen-socket.h"
#include "quantity.h"

#define FOREIGN                                                                                             \
	"%s is refused: plain HTTP is served on Unix sockets (unix:PATH) and on loopback (127.0.0.1:PORT, " \
	"[::1]:PORT) only. Write https:HOST:PORT, with a certificate, a key and access control in [access]"
#define NO_TLS	"%s is refused: HTTPS needs a certificate and a key in the section [access] of the configuration"
#define PREFIX	"https:"
#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
}

/*
 * Return whether the socket A was left by a server that was killed: it exists, and no process
 * listens on it.
 */
static bool is_abandoned(const struct sockaddr_un *a)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 && errno == ECONNREFUSED;
}

static int bind_unix(int fd, const struct sockaddr_un *a)
{
	mode_t mask = umask(0117); /* the socket has the mode 0660 from the beginning */
	int rc = bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? -errno : 0;

	if (rc == -EADDRINUSE && is_abandoned(a) && unlink(a->sun_path) == 0)
		rc = bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? -errno : 0;
	umask(mask);
	return rc;
}

static int open_unix(struct listen_socket *l, const char *path, char *sentence, size_t size)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int rc;

	if (strlen(path) >= sizeof(a.sun_path) || !*path) {
		snprintf(sentence, size, "unix:%s: a socket's path has 1 to %zu bytes", path, sizeof(a.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(a.sun_path, path);
	rc = fd < 0 ? -errno : bind_unix(fd, &a);
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc < 0) {
		snprintf(sentence, size, "cannot listen on unix:%s: %s", path, strerror(-rc));
		return rc;
	}
	l->path = strdup(path);
	snprintf(l->address, sizeof(l->address), "unix:%s", path);
	l->fd = TAKE_FD(fd);
	return l->path ? 0 : -ENOMEM;
}

/*
 * Parse HOST:PORT. HOST is a numeric address or `localhost`. Return false if TEXT is anything else.
 */
static bool parse_address(const char *text, union address *a)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;
	size_t n;

	memset(a, 0, sizeof(*a));
	if (!colon || (size_t)(colon - text) >= sizeof(host) || !quantity_whole(colon + 1, 65535, &port))
		return false;
	n = (size_t)(colon - text);
	memcpy(host, text, n);
	host[n] = '\0';
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host + 1, &a->in6.sin6_addr) == 1;
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &a->in.sin_addr) == 1;
}

static void describe(struct listen_socket *l, const union address *a)
{
	const char *scheme = l->tls ? "https" : "http";
	char host[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
		snprintf(l->address, sizeof(l->address), "%s://[%s]:%u", scheme, host, ntohs(a->in6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
		snprintf(l->address, sizeof(l->address), "%s://%s:%u", scheme, host, ntohs(a->in.sin_port));
	}
}

static int open_tcp(struct listen_socket *l, const union address *a, const char *text, char *sentence, size_t size)
{
	CLEANUP(closep) int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = a->any.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
	union address bound = {0};
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 || bind(fd, &a->any, len) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, &bound.any, &len) < 0) {
		int rc = -errno;

		snprintf(sentence, size, "cannot listen on %s: %s", text, strerror(-rc));
		return rc;
	}
	describe(l, &bound);
	l->tcp = true;
	l->fd = TAKE_FD(fd);
	return 0;
}

/* Check that L may be served at the address A. Return 0 or -errno with a sentence. */
static int check(struct listen_socket *l, const union address *a, const char *text, bool tls, char *sentence,
		 size_t size)
{
	if (l->tls ? tls : is_loopback(a))
		return 0;
	if (l->tls)
		snprintf(sentence, size, NO_TLS, text);
	else
		snprintf(sentence, size, FOREIGN, text);
	return -EACCES;
}

int listen_socket_open(struct listen_socket *l, const char *text, bool tls, char *sentence, size_t size)
{
	union address a = {0};
	int rc;

	*l = (struct listen_socket){.fd = -1};
	if (strncmp(text, "unix:", 5) == 0)
		return open_unix(l, text + 5, sentence, size);
	l->tls = strncmp(text, PREFIX, strlen(PREFIX)) == 0;
	if (!parse_address(text + (l->tls ? strlen(PREFIX) : 0), &a)) {
		if (!l->tls) {
			snprintf(sentence, size, FOREIGN, text);
			return -EACCES;
		}
		snprintf(sentence, size, "%s is no address: write https:HOST:PORT with a numeric address", text);
		return -EINVAL;
	}
	rc = check(l, &a, text, tls, sentence, size);
	return rc < 0 ? rc : open_tcp(l, &a, text, sentence, size);
}

int listen_socket_adopt(struct listen_socket *l, int fd, const char *name, bool tls, char *sentence, size_t size)
{
	union address a = {0};
	socklen_t len = sizeof(a);
	int rc;

	*l = (struct listen_socket){.fd = -1};
	if (getsockname(fd, &a.any, &len) < 0) {
		snprintf(sentence, size, "file descriptor %d from systemd is not a socket", fd);
		return -ENOTSOCK;
	}
	l->tls = strcmp(name, "https") == 0;
	if (a.any.sa_family == AF_UNIX && !l->tls) {
		snprintf(l->address, sizeof(l->address), "unix:%.*s (from systemd)", 100, a.un.sun_path);
		l->fd = fd;
		return 0;
	}
	if (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6) {
		snprintf(sentence, size, "file descriptor %d from systemd is no socket for %s", fd,
			 l->tls ? "HTTPS" : "HTTP");
		return -EACCES;
	}
	l->tcp = true;
	describe(l, &a);
	rc = check(l, &a, l->address, tls, sentence, size);
	if (rc == 0)
		l->fd = fd;
	return rc;
}
