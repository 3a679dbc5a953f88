/*
 * A stream of a lab guest. The stream is a ring in pages that the guest grants to domain 0 and
 * publishes as schema/xenstore.md says.
 *
 * Each event is a counter. The counter's value is a serial number, 1 for the first event of a life;
 * the counter's name identifies the life of the stream. All events have the same size, so the
 * serial number of an event gives the event's place in the ring. A failure ends the program, and
 * with it the guest.
 */
#ifndef LAB_STREAM_H
#define LAB_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>

#include <mprof/recorder.h>

#define LAB_PAGE	   4096u
#define LAB_DIRECTORY_REFS 1023u /* references to ring pages in a directory page */

struct lab_xen {
	struct xs_handle *store;
	xengntshr_handle *grants;
	xenevtchn_handle *events;
};

struct lab_stream {
	struct lab_xen *xen;
	unsigned number; /* stream 0 is published in data/mprof itself */
	bool directory, kicks;
	uint32_t pages, packets;

	uint8_t *ring;	 /* PAGES pages; NULL while the ring is withdrawn */
	uint32_t *refs;	 /* grant reference of each page */
	uint32_t *chain; /* the directory's pages; NULL without a directory */
	uint32_t chain_refs[LAB_DIRECTORY_REFS];
	int port;

	struct mprof_recorder recorder;
	uint64_t kicked; /* packets finished at the last kick */
	uint64_t serial; /* serial number of the last event */
	unsigned life;
};

void lab_die(const char *what) __attribute__((noreturn));
void lab_xen_open(struct lab_xen *xen);

/* Write TEXT to the guest's own KEY, relative to its node. */
void lab_put(const struct lab_xen *xen, const char *key, const char *text);

/* Grant the pages to domain 0. The caller has set the fields from XEN to PACKETS. */
void lab_stream_share(struct lab_stream *s);

/* Begin a new life in the granted pages with a recorder. */
void lab_stream_begin(struct lab_stream *s);

/* Write all XenStore keys of the stream, the commit key last. */
void lab_stream_publish(struct lab_stream *s);

/*
 * Remove the commit key, wait until the collector has had time to unmap the ring, and end the
 * grants.
 */
void lab_stream_withdraw(struct lab_stream *s);

/* Record N more events. Send an event-channel notification for each packet that they complete. */
void lab_stream_write(struct lab_stream *s, uint64_t n);

#endif
