/*
 * sd-event as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   deaf      the same wish again (sd_event_source_set_io_events()) reports no bytes that are there
 *   postless  no source of sd_event_add_post() is ever called
 *   keeps     sd_event_source_disable_unref() leaves the source on
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

static bool breaks(const char *how)
{
	const char *chosen = getenv("MPROF_BREAK");

	return chosen && strcmp(chosen, how) == 0;
}

int sd_event_source_set_io_events(sd_event_source *source, uint32_t events)
{
	int (*set)(sd_event_source *, uint32_t) = NULL;

	if (breaks("deaf"))
		return 0;
	*(void **)&set = dlsym(RTLD_NEXT, "sd_event_source_set_io_events");
	return set(source, events);
}

static int ignore(sd_event_source *source, void *context)
{
	(void)source;
	(void)context;
	return 0;
}

int sd_event_add_post(sd_event *e, sd_event_source **s, sd_event_handler_t callback, void *userdata)
{
	int (*add)(sd_event *, sd_event_source **, sd_event_handler_t, void *) = NULL;

	*(void **)&add = dlsym(RTLD_NEXT, "sd_event_add_post");
	return add(e, s, breaks("postless") ? ignore : callback, userdata);
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source)
{
	sd_event_source *(*unref)(sd_event_source *) = NULL;

	if (breaks("keeps"))
		return NULL;
	*(void **)&unref = dlsym(RTLD_NEXT, "sd_event_source_disable_unref");
	return unref(source);
}
