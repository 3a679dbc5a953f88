/* Catch what a program writes to stderr, as its log does. A check between catch_begin() and catch_end() is not seen. */
#ifndef UNIT_CATCH_H
#define UNIT_CATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Redirection of stderr to a file, to read what was written since catch_begin. */
struct catch
{
	int saved, fd;
	char text[65536];
};

static inline void catch_begin(struct catch *c)
{
	char path[] = "/tmp/mprof-test-log-XXXXXX";

	c->fd = mkstemp(path);
	unlink(path);
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	dup2(c->fd, STDERR_FILENO);
}

static inline const char *catch_end(struct catch *c)
{
	ssize_t n = pread(c->fd, c->text, sizeof(c->text) - 1, 0);

	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->fd);
	c->text[n < 0 ? 0 : n] = '\0';
	return c->text;
}

/* Return how often LOG has TEXT. */
static inline unsigned lines_with(const char *log, const char *text)
{
	unsigned n = 0;

	for (const char *at = log; (at = strstr(at, text)); at += strlen(text))
		n++;
	return n;
}

#endif
