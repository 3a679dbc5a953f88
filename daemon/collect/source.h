/*
 * The interface between the collector and a source of guests: a directory of ring files
 * (daemon/files), or XenStore (daemon/xen). The collector knows neither; the program passes in a
 * function that opens the source.
 *
 * A source finds guests and polls their rings through the collector's schedule. The collector's
 * loop drives it. It owns its guests.
 */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;
struct guest;

/* A guest and its place on the network. */
struct source_guest {
	int64_t run;		 /* 0 = none: it publishes no ring */
	const char *name, *uuid; /* borrowed until control returns to the loop; NULL = not known */
	uint32_t domid;
	char address[64];	/* "" = not known; set only for a request by domid */
	uint32_t memtrace_port; /* 0 = none; set only for a request by domid */
};

/* Take the port at which the guest DOMID of RUN, which has not ended, offers its memory profile. */
typedef void source_offer(void *context, int64_t run, uint32_t domid, uint32_t port);

struct source {
	/*
	 * Return the guest whose present run is RUN, or NULL. Borrowed until control returns to the
	 * loop.
	 */
	struct guest *(*find)(struct source *source, int64_t run);
	/* Poll the rings of RUN at once: a capture was begun. */
	void (*poll_soon)(struct source *source, int64_t run);
	/* Count the guests that run and the rings that are attached. */
	void (*count)(const struct source *source, size_t *guests, size_t *rings);
	/*
	 * Find the guest that has ADDRESS (NULL: that has DOMID). Return false if none is known. A
	 * request by address comes with a memory profile of the guest, so the guest has a run from
	 * then on. NULL if guests have no addresses here.
	 */
	bool (*identify)(struct source *source, const char *address, uint32_t domid, struct source_guest *guest);
	/* Call OFFER for each guest that offers its memory profile. NULL if none does. */
	void (*offers)(const struct source *source, source_offer *offer, void *context);
	/*
	 * Return one sentence on why guests may not be found now, borrowed; "" if nothing is wrong.
	 * NULL if the source never says so.
	 */
	const char *(*trouble)(const struct source *source);
	/*
	 * Write metrics of its own, as OpenMetrics text of at most SIZE bytes, terminated; a cut
	 * last line is dropped. NULL if it has none.
	 */
	void (*metrics)(const struct source *source, char *text, size_t size);
	/* Close: forget the guests, without telling the archive. */
	void (*close)(struct source *source);
};

/*
 * Open the source that the program was told to use, for COLLECTOR. The first scan is done on
 * return. On failure return -errno and write a SENTENCE of SIZE bytes. CONTEXT is the program's.
 */
typedef int source_open(void *context, struct source **sp, struct collector *collector, char *sentence, size_t size);

#endif
