/*
 * Holding a guest's pages.  What is mapped here keeps a dead guest a zombie, so everything that is taken is given back in share_detach
 * and nowhere else.
 */
#include "share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ring.h>

#include "collector.h"
#include "domain.h"
#include "keys.h"

#define PAGES_MAX (MPROF_RING_BYTES_MAX / XEN_PAGE_BYTES)

/* Do the pages found stand in another of the guest's rings too? */
static enum fault shared_twice(const struct domain *domain, const struct mapping *mapping)
{
	size_t n = mapping->pages;
	uint32_t *all, *scratch;
	bool twice;

	for (const struct share *s = domain->shares; s; s = s->next)
		n += s->attached ? s->mapping.pages : 0;
	if (n == mapping->pages)
		return FAULT_NONE;
	all = malloc(2 * n * sizeof(*all));
	if (!all)
		return FAULT_STORE;
	scratch = all + n;
	n = mapping->pages;
	memcpy(all, mapping->refs, n * sizeof(*all));
	for (const struct share *s = domain->shares; s; s = s->next)
		if (s->attached) {
			memcpy(all + n, s->mapping.refs, s->mapping.pages * sizeof(*all));
			n += s->mapping.pages;
		}
	twice = value_duplicates(all, n, scratch);
	free(all);
	return twice ? FAULT_DUPLICATE : FAULT_NONE;
}

/* Map the pages, within what guest and host allow. */
static enum fault pages_take(struct share *share, struct keys *keys)
{
	struct domain *domain = share->domain;
	struct host *host = domain->host;
	enum fault fault;
	int error;

	fault = mapping_find(&share->mapping, host->xen, domain->domid, keys, PAGES_MAX - domain->pages);
	if (fault)
		return fault;
	fault = shared_twice(domain, &share->mapping);
	if (fault == FAULT_NONE && !allowance_take(&host->allowance, domain->pages, share->mapping.pages))
		fault = FAULT_HOST_PAGES;
	if (fault) {
		mapping_drop(&share->mapping, host->xen);
		return fault;
	}
	domain->pages += share->mapping.pages;
	return mapping_map(&share->mapping, host->xen, domain->domid, &error);
}

static void pages_give(struct share *share)
{
	struct domain *domain = share->domain;

	allowance_give(&domain->host->allowance, domain->pages, share->mapping.pages);
	domain->pages -= share->mapping.pages;
	mapping_drop(&share->mapping, domain->host->xen);
}

enum fault share_attach(struct share *share, struct keys *keys, const struct archive_resume *resume, bool dead,
			const char **sentence, int *condition)
{
	struct domain *domain = share->domain;
	uint64_t bytes;
	enum fault fault;

	*sentence = "";
	*condition = 0;
	fault = pages_take(share, keys);
	if (fault) {
		if (share->mapping.pages)
			pages_give(share);
		return fault;
	}
	bytes = (uint64_t)share->mapping.pages * XEN_PAGE_BYTES;
	memory_array_init(&share->memory, share->mapping.bytes, bytes);
	*condition = stream_attach(&share->stream, &domain->guest, share->number, keys->label, &share->memory.memory,
				   bytes, resume, dead, sentence);
	if (*condition) {
		pages_give(share);
		return *condition < 0 ? FAULT_STORE : FAULT_RING;
	}
	share->attached = true;
	share->directory = keys->directory;
	share->written = 0;
	share->kick = (struct kick){0};
	return FAULT_NONE;
}

void share_detach(struct share *share)
{
	if (!share->attached)
		return;
	share_bind(share, 0);
	stream_detach(&share->stream);
	pages_give(share);
	schedule_remove(&share->domain->host->collector->schedule, &share->task);
	share->attached = share->leaving = share->left = share->gone = false;
}

void share_hold(struct share *share)
{
	const struct ring *ring = &share->stream.ring;
	const struct ring_slot *slot;

	if (!share->attached)
		return;
	slot = &ring->slots[ring->writer.slot];
	share->held = (struct archive_resume){
		.run = share->domain->guest.run,
		.stream = share->stream.id,
		.domid = -1,
		.number = share->number,
		.ring_bytes = ring->bytes,
		.ring_packets = ring->n,
		.any = true,
		.sequence = ring->cursor.sequence,
		.offset = ring->cursor.offset,
		.last_real = clock_real(),
	};
	share->has_held = true;
	if (ring->cursor.offset > MPROF_PACKET_HEADER_BYTES) {
		share->held.last_sequence = ring->cursor.sequence;
		share->held.first_timestamp = ring->cursor.first;
	} else if (slot->has_first) {
		/* Any packet that is there now shows that the ring goes on. */
		share->held.last_sequence = ring->writer.active;
		share->held.first_timestamp = slot->first;
	} else {
		share->held.any = false;
	}
}

enum fault share_bind(struct share *share, uint32_t port)
{
	struct host *host = share->domain->host;
	uint32_t local;

	if (share->kick.bound) {
		host_port_set(host, share->local, NULL);
		xen_unbind(host->xen, share->local);
		share->kick = (struct kick){0};
	}
	if (!port)
		return FAULT_NONE;
	if (xen_bind(host->xen, share->domain->domid, port, &local))
		return FAULT_EVENT_CHANNEL;
	if (host_port_set(host, local, share)) {
		xen_unbind(host->xen, local);
		return FAULT_EVENT_CHANNEL;
	}
	share->local = local;
	kick_bound(&share->kick, clock_mono());
	return FAULT_NONE;
}

int share_look(struct share *share, uint64_t now, uint64_t *next)
{
	struct stream *stream = &share->stream;
	int r = stream_look(stream, now, next);
	bool idle, unmask;

	if (r == RING_E_GONE || r == RING_E_RENEWED)
		return r;
	/* A ring that rests has always an end that is not proven: what counts is that nothing came and that it has been looked for. */
	idle = r == 0 && stream->ring.writer.written == share->written && stream->cadence.soon == 0 &&
	       !stream->capture.wanted;
	share->written = stream->ring.writer.written;
	*next = kick_looked(&share->kick, stream->ring.writer.active, idle, now, *next, &unmask);
	if (unmask)
		xen_unmask(share->domain->host->xen, share->local);
	return r;
}
