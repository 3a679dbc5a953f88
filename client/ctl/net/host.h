/*
 * One host, with all that a connection to its mprofd-http needs: the address, the files of
 * certificates, and the token.
 */
#ifndef CTL_HOST_H
#define CTL_HOST_H

#include <stdbool.h>

#include "ctl.h"

enum host_kind {
	HOST_UNIX,  /* a Unix socket of this machine */
	HOST_SSH,   /* a Unix socket of another machine, over ssh */
	HOST_HTTP,  /* TCP; a token is sent to loopback only */
	HOST_HTTPS, /* TLS 1.2 or later */
};

/* All strings are owned. */
struct host {
	enum host_kind kind;
	char *label; /* for messages: the name in the hosts file, or else the address */
	char *base;  /* "http://host:port", without a slash at the end */
	/* Path of the Unix socket; for HOST_SSH on the other machine, and NULL for its default. */
	char *socket;
	char *ssh;	       /* "[USER@]HOST" for ssh; NULL for other kinds */
	char *ca, *cert, *key; /* files in PEM format; NULL = the system's CAs, no certificate */
	char *token;	       /* bearer token, or NULL; never printed */
	bool loopback;	       /* HOST_HTTP: the address is this machine's */
	bool several;	       /* the command line has several hosts, so messages begin with LABEL */
	bool unattended;       /* as in struct hosts */
};

/*
 * Resolve HOSTS, which must be a single host: read the hosts file and the token. Return an exit
 * code. The caller deinits H in any case.
 */
int host_resolve(struct host *h, const struct hosts *hosts);
void host_deinit(struct host *h);

#endif
