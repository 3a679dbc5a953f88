/*
 * The interface between the collector and a source of guests: a directory of ring files
 * (daemon/files), or XenStore (daemon/xen). The collector knows neither: the program passes a
 * function that opens the source.
 *
 * A source owns its guests, finds them, and polls their rings by tasks in the collector's schedule.
 */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;
struct guest;

/* A guest, as identify() answers. */
struct source_guest {
	int64_t run;		 /* 0 = it has no run */
	const char *name, *uuid; /* borrowed until control returns to the loop; NULL = unknown */
	uint32_t domid;
	char address[64];	/* "" = unknown; set only if the request had a domid */
	uint32_t memtrace_port; /* 0 = it offers no memory profile; set only if the request had a domid */
};

/*
 * Called for a guest that offers its memory profile: domain DOMID of RUN, which has not ended, at
 * the TCP port PORT.
 */
typedef void source_offer(void *context, int64_t run, uint32_t domid, uint32_t port);

struct source {
	/*
	 * Return the guest whose current run is RUN, or NULL. Borrowed until control returns to the
	 * loop.
	 */
	struct guest *(*find)(struct source *source, int64_t run);
	/* Poll the rings of RUN at once, because a capture was begun. */
	void (*poll_soon)(struct source *source, int64_t run);
	/*
	 * Return whether CAPTURE is being taken, or its context is still to come. The pointer is NULL if no guest of this
	 * source has captures that wait for the reader.
	 */
	bool (*takes)(const struct source *source, int64_t capture);
	/* Return the number of running guests in *GUESTS, and of attached rings in *RINGS. */
	void (*count)(const struct source *source, size_t *guests, size_t *rings);
	/*
	 * Find the guest that has ADDRESS, or if ADDRESS is NULL the guest with DOMID, and fill
	 * *GUEST. Return false if none is known. mprofd-sink asks by address when it receives a
	 * memory profile of the guest, so such a guest is given a run. The pointer is NULL if
	 * guests of this source have no addresses.
	 */
	bool (*identify)(struct source *source, const char *address, uint32_t domid, struct source_guest *guest);
	/*
	 * Call OFFER for each guest that offers its memory profile. The pointer is NULL if none
	 * can.
	 */
	void (*offers)(const struct source *source, source_offer *offer, void *context);
	/*
	 * Return a sentence on why guests may not be found now (borrowed); "" = no problem. The
	 * pointer is NULL if the source never has a problem.
	 */
	const char *(*trouble)(const struct source *source);
	/*
	 * Return a sentence on guests that are left out for a limit (borrowed until the next call); "" = none is.
	 * The pointer is NULL if the source has no such limit.
	 */
	const char *(*note)(struct source *source);
	/*
	 * Write the source's own metrics to TEXT (SIZE bytes), as terminated OpenMetrics text. The
	 * caller drops a last line that is cut. The pointer is NULL if there are none.
	 */
	void (*metrics)(const struct source *source, char *text, size_t size);
	/* Close the source and free its guests. Their runs stay in the archive as they are. */
	void (*close)(struct source *source);
};

/*
 * Open the source for COLLECTOR. CONTEXT is collector_options.source_context. The first scan is
 * complete on return. Return 0, with the source in *SP; or -errno, with a sentence in SENTENCE
 * (SIZE bytes).
 */
typedef int source_open(void *context, struct source **sp, struct collector *collector, char *sentence, size_t size);

#endif
