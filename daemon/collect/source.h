/*
 * The interface between the collector and where guests come from: a directory of ring files (daemon/files), or XenStore
 * (daemon/xen). The collector knows neither; the program passes in what opens the source.
 *
 * A source finds guests and looks at them through the collector's schedule.  It is driven by the collector's loop and owns its guests.
 */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;
struct guest;

/* Who and where a guest is on the network. */
struct source_guest {
	int64_t run;		 /* 0 = it has none: it publishes no ring */
	const char *name, *uuid; /* borrowed until control returns to the loop; NULL = not known */
	uint32_t domid;
	char address[64];	/* "" = not known; only where it was asked for by domid */
	uint32_t memtrace_port; /* 0 = it says none; the same */
};

/* RUN's guest DOMID, which has not ended, offers its memory profile at PORT. */
typedef void source_offer(void *context, int64_t run, uint32_t domid, uint32_t port);

struct source {
	/* The guest whose present run is RUN, or NULL.  Borrowed until control returns to the loop. */
	struct guest *(*find)(struct source *source, int64_t run);
	/* See to RUN at once: a capture was begun. */
	void (*poll_soon)(struct source *source, int64_t run);
	/* How many guests run, and how many rings are attached. */
	void (*count)(const struct source *source, size_t *guests, size_t *rings);
	/*
	 * Which guest has ADDRESS (NULL: has DOMID)?  False: none that is known.  NULL: guests have no addresses here.  Who asks by address has
	 * its memory profile, so that it has a run from then on.
	 */
	bool (*identify)(struct source *source, const char *address, uint32_t domid, struct source_guest *guest);
	/* Say which guests offer their memory profile.  NULL: none does. */
	void (*offers)(const struct source *source, source_offer *offer, void *context);
	/* Return one sentence on why guests may not be found now, borrowed; "" if they are.  NULL: the source has nothing to say. */
	const char *(*trouble)(const struct source *source);
	/* Write metrics of its own, as OpenMetrics text of at most SIZE bytes, terminated; a last line that is cut is dropped.  NULL: none. */
	void (*metrics)(const struct source *source, char *text, size_t size);
	/* End: forget the guests, without a word to the archive. */
	void (*close)(struct source *source);
};

/*
 * Open the source that the program was told to use, for COLLECTOR. The first scan is done on return. On failure return -errno and write
 * a SENTENCE of SIZE bytes. CONTEXT is the program's.
 */
typedef int source_open(void *context, struct source **sp, struct collector *collector, char *sentence, size_t size);

#endif
