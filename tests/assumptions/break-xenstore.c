/* libxenstore as it might be, to put in LD_PRELOAD. MPROF_BREAK=silent: each second event of a watch is lost, beginning with the first. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

char **xs_check_watch(struct xs_handle *h)
{
	static bool passes;
	const char *how = getenv("MPROF_BREAK");
	char **(*check)(struct xs_handle *) = NULL;
	char **event;

	*(void **)&check = dlsym(RTLD_NEXT, "xs_check_watch");
	event = check(h);
	if (!event || !how || strcmp(how, "silent") != 0)
		return event;
	passes = !passes;
	if (!passes)
		return event;
	free(event);
	errno = EAGAIN;
	return NULL;
}
