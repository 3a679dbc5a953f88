/* Progress goes to stderr, since standard output may be the download itself; drawn at most ten times a second. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "progress.h"
#include "scope.h"
#include "table.h"

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_init(struct progress *p, const char *name)
{
	*p = (struct progress){.shown = isatty(STDERR_FILENO), .name = name, .began_ms = now_ms()};
}

void progress_add(struct progress *p, uint64_t bytes)
{
	SCOPED(freep) char *name = NULL;
	char done[24], rate[24];
	int64_t now;

	p->bytes += bytes;
	if (!p->shown)
		return;
	now = now_ms();
	if (now - p->drawn_ms < 100)
		return;
	p->drawn_ms = now;
	name = printable(p->name, strlen(p->name));
	bytes_text(p->bytes, done, sizeof(done));
	bytes_text(p->bytes * 1000 / (uint64_t)(now - p->began_ms + 1), rate, sizeof(rate));
	fprintf(stderr, "\r%s: %s, %s/s\033[K", name ? name : "", done, rate);
}

void progress_done(struct progress *p)
{
	if (p->shown && p->drawn_ms)
		fputs("\r\033[K", stderr);
}
