/*
 * This file reads a bearer token. A token is a secret, so a file that others can open is refused,
 * and no message quotes what a file or a variable holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "token-file.h"

#define TOKEN_MAX 4096u
/* The bytes of a bearer token by RFC 6750. */
#define TOKEN_BYTES                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789-._~+/="
#define HEX "0123456789abcdef"

bool token_in(const char *text)
{
	while ((text = strstr(text, "mprof_"))) {
		text += strlen("mprof_");
		if (strspn(text, HEX) == 16 && text[16] == '_')
			return true;
	}
	return false;
}

char *token_free(char *token)
{
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
	return NULL;
}

/* Read at most TOKEN_MAX bytes from FD into BUF, with a zero behind them. Return -errno or their number. */
static ssize_t read_whole(int fd, char *buf)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n && used < TOKEN_MAX) {
		n = read(fd, buf + used, TOKEN_MAX - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? (size_t)n : 0;
	}
	buf[used] = 0;
	return (ssize_t)used;
}

/* Set *TOKEN to a copy of TEXT without the blanks around it. SOURCE is for messages. Return an exit code. */
static int take(const char *text, const char *source, char **token)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strspn(text, TOKEN_BYTES);
	if (!n || text[n + strspn(text + n, " \t\r\n")]) {
		say("%s holds no token: a token is one line, as `mprofctl token new` prints it", source);
		return CTL_FAILED;
	}
	*token = strndup(text, n);
	return *token ? CTL_OK : say_memory();
}

/*
 * As token_read(), but refuse a file with one of the mode bits FORBIDDEN. Set *ABSENT, if ABSENT is
 * not NULL, and return CTL_OK if there is no such file.
 */
static int read_file(const char *path, mode_t forbidden, char **token, bool *absent)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char buf[TOKEN_MAX + 1];
	struct stat st;
	ssize_t n;
	int r;

	if (fd < 0 && errno == ENOENT && absent) {
		*absent = true;
		return CTL_OK;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		say("cannot read the token file %s: %s", path, strerror(errno));
		return CTL_FAILED;
	}
	if (st.st_mode & forbidden) {
		say("the token file %s is open to others than its owner (mode %04o), so its token is not used: run "
		    "`chmod 600 %s`, and revoke the token if somebody may have read it",
		    path, (unsigned int)(st.st_mode & 07777), path);
		return CTL_FAILED;
	}
	n = read_whole(fd, buf);
	if (n < 0) {
		say("cannot read the token file %s: %s", path, strerror((int)-n));
		return CTL_FAILED;
	}
	r = take(buf, path, token);
	explicit_bzero(buf, sizeof(buf));
	return r;
}

int token_read(const char *path, char **token)
{
	return read_file(path, 077, token, NULL);
}

int token_of_environment(char **token)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY"), *value = getenv("MPROFCTL_TOKEN");
	CLEANUP(freep) char *path = NULL;
	bool absent = false;
	int r;

	*token = NULL;
	if (directory && *directory) {
		if (asprintf(&path, "%s/mprofctl-token", directory) < 0) {
			path = NULL;
			return say_memory();
		}
		/* systemd may give its user access by an ACL, whose mask stands in the bits of the group. */
		r = read_file(path, 07, token, &absent);
		if (r || !absent)
			return r;
	}
	return value && *value ? take(value, "MPROFCTL_TOKEN", token) : CTL_OK;
}
