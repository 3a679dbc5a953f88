/*
 * Streams of a lab guest in granted pages. The grants are read-only for domain 0, as the contract
 * requires. The recorder orders the stores to the ring.
 */
#include "lab-stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void lab_die(const char *what)
{
	fprintf(stderr, "lab-guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

void lab_xen_open(struct lab_xen *xen)
{
	xen->store = xs_open(0);
	xen->grants = xengntshr_open(NULL, 0);
	xen->events = xenevtchn_open(NULL, 0);
	if (!xen->store || !xen->grants || !xen->events)
		lab_die("opening XenStore, gntalloc and evtchn");
}

void lab_put(const struct lab_xen *xen, const char *key, const char *text)
{
	if (!xs_write(xen->store, XBT_NULL, key, text, (unsigned)strlen(text)))
		lab_die(key);
}

static const char *key_of(const struct lab_stream *s, const char *name, char key[64])
{
	if (s->number)
		snprintf(key, 64, "data/mprof/stream/%u/%s", s->number, name);
	else
		snprintf(key, 64, "data/mprof/%s", name);
	return key;
}

static void stream_put(const struct lab_stream *s, const char *name, const char *text)
{
	char key[64];

	lab_put(s->xen, key_of(s, name, key), text);
}

static uint32_t chain_pages(const struct lab_stream *s)
{
	return (s->pages + LAB_DIRECTORY_REFS - 1) / LAB_DIRECTORY_REFS;
}

/*
 * Grant the directory's pages and fill them with the references in order. The last word of each
 * page is the reference of the next page.
 */
static void chain_share(struct lab_stream *s)
{
	const uint32_t n = chain_pages(s), words = LAB_PAGE / 4;

	if (n > LAB_DIRECTORY_REFS)
		lab_die("so many pages");
	s->chain = (uint32_t *)xengntshr_share_pages(s->xen->grants, 0, (int)n, s->chain_refs, 0);
	if (!s->chain)
		lab_die("sharing the directory");
	memset(s->chain, 0, (size_t)n * LAB_PAGE);
	for (uint32_t i = 0; i < s->pages; i++)
		s->chain[i / LAB_DIRECTORY_REFS * words + i % LAB_DIRECTORY_REFS] = s->refs[i];
	for (uint32_t i = 0; i + 1 < n; i++)
		s->chain[i * words + LAB_DIRECTORY_REFS] = s->chain_refs[i + 1];
}

void lab_stream_share(struct lab_stream *s)
{
	s->refs = calloc(s->pages, sizeof(*s->refs));
	if (!s->refs)
		lab_die("memory");
	s->ring = (uint8_t *)xengntshr_share_pages(s->xen->grants, 0, (int)s->pages, s->refs, 0);
	if (!s->ring)
		lab_die("sharing pages");
	memset(s->ring, 0, (size_t)s->pages * LAB_PAGE);
	if (s->directory)
		chain_share(s);
	if (!s->kicks)
		return;
	s->port = xenevtchn_bind_unbound_port(s->xen->events, 0);
	if (s->port < 0)
		lab_die("an event channel");
}

static uint64_t now(void *context)
{
	struct timespec ts;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void lab_stream_begin(struct lab_stream *s)
{
	enum mprof_recorder_status status =
		mprof_recorder_init(&s->recorder, s->ring, (size_t)s->pages * LAB_PAGE, s->packets, now, NULL);

	if (status != MPROF_RECORDER_OK)
		lab_die(mprof_recorder_status_text(status));
	s->life++;
	s->serial = s->kicked = 0;
}

/* Return the references as the text of one value. The caller frees it. */
static char *refs_text(const struct lab_stream *s)
{
	char *text = malloc((size_t)s->pages * 11), *p = text;

	if (!text)
		lab_die("memory");
	for (uint32_t i = 0; i < s->pages; i++)
		p += sprintf(p, "%s%" PRIu32, i ? "," : "", s->refs[i]);
	return text;
}

void lab_stream_publish(struct lab_stream *s)
{
	char text[32], *refs;

	if (s->number) {
		snprintf(text, sizeof(text), "lab stream %u", s->number);
		stream_put(s, "name", text);
	}
	if (s->kicks) {
		snprintf(text, sizeof(text), "%d", s->port);
		stream_put(s, "event-channel", text);
	}
	if (s->directory) {
		snprintf(text, sizeof(text), "%" PRIu32, s->chain_refs[0]);
		stream_put(s, "directory-ref", text);
		return;
	}
	refs = refs_text(s);
	stream_put(s, "ring-ref", refs);
	free(refs);
}

void lab_stream_withdraw(struct lab_stream *s)
{
	char key[64];

	if (!xs_rm(s->xen->store, XBT_NULL, key_of(s, s->directory ? "directory-ref" : "ring-ref", key)))
		lab_die(key);
	mprof_recorder_stop(&s->recorder);
	usleep(1200000); /* the contract gives the collector one second to unmap the ring */
	xengntshr_unshare(s->xen->grants, s->ring, s->pages);
	if (s->chain)
		xengntshr_unshare(s->xen->grants, s->chain, chain_pages(s));
	if (s->kicks)
		xenevtchn_unbind(s->xen->events, (evtchn_port_t)s->port);
	free(s->refs);
	s->ring = NULL;
	s->refs = s->chain = NULL;
}

void lab_stream_write(struct lab_stream *s, uint64_t n)
{
	const char name[2] = {'e', (char)('0' + s->life % 10)};

	while (n-- > 0) {
		mprof_recorder_counter(&s->recorder, (int64_t)++s->serial, name, sizeof(name));
		if (!s->kicks || mprof_recorder_sequence(&s->recorder) == s->kicked)
			continue;
		s->kicked = mprof_recorder_sequence(&s->recorder);
		xenevtchn_notify(s->xen->events, (evtchn_port_t)s->port);
	}
}
