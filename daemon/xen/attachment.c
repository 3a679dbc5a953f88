/*
 * Map and attach a guest's pages. Xen keeps a dead guest as a zombie until its pages are unmapped;
 * attachment_detach() is the only function that unmaps them.
 */
#include "attachment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ring.h>

#include "collector.h"
#include "domain.h"
#include "keys.h"

#define PAGES_MAX (MPROF_RING_BYTES_MAX / XEN_PAGE_BYTES)

/* Return a fault if a page of MAPPING also belongs to another attached ring of the guest. */
static enum fault shared_twice(const struct domain *domain, const struct mapping *mapping)
{
	size_t n = mapping->pages;
	uint32_t *all, *scratch;
	bool twice;

	for (const struct attachment *a = domain->attachments; a; a = a->next)
		n += a->attached ? a->mapping.pages : 0;
	if (n == mapping->pages)
		return FAULT_NONE;
	all = malloc(2 * n * sizeof(*all));
	if (!all)
		return FAULT_STORE;
	scratch = all + n;
	n = mapping->pages;
	memcpy(all, mapping->refs, n * sizeof(*all));
	for (const struct attachment *a = domain->attachments; a; a = a->next)
		if (a->attached) {
			memcpy(all + n, a->mapping.refs, a->mapping.pages * sizeof(*all));
			n += a->mapping.pages;
		}
	twice = value_duplicates(all, n, scratch);
	free(all);
	return twice ? FAULT_DUPLICATE : FAULT_NONE;
}

/*
 * Find and map the pages that KEYS name, within the limits of guest and host. Return FAULT_NONE or
 * the fault, with FAULT_MAP -errno in *ERROR.
 */
static enum fault pages_take(struct attachment *attachment, struct keys *keys, int *error)
{
	struct domain *domain = attachment->domain;
	struct host *host = domain->host;
	enum fault fault;

	fault = mapping_find(&attachment->mapping, host->xen, domain->domid, keys, PAGES_MAX - domain->pages, error);
	if (fault)
		return fault;
	fault = shared_twice(domain, &attachment->mapping);
	if (fault == FAULT_NONE && !allowance_take(&host->allowance, domain->pages, attachment->mapping.pages))
		fault = FAULT_HOST_PAGES;
	if (fault) {
		mapping_drop(&attachment->mapping, host->xen);
		return fault;
	}
	domain->pages += attachment->mapping.pages;
	return mapping_map(&attachment->mapping, host->xen, domain->domid, error);
}

static void pages_give(struct attachment *attachment)
{
	struct domain *domain = attachment->domain;

	allowance_give(&domain->host->allowance, domain->pages, attachment->mapping.pages);
	domain->pages -= attachment->mapping.pages;
	mapping_drop(&attachment->mapping, domain->host->xen);
}

enum fault attachment_attach(struct attachment *attachment, struct keys *keys, const struct archive_resume *resume,
			     bool dead, const char **sentence, int *condition)
{
	struct domain *domain = attachment->domain;
	uint64_t bytes;
	enum fault fault;

	*sentence = "";
	*condition = 0;
	fault = pages_take(attachment, keys, condition);
	if (fault) {
		if (attachment->mapping.pages)
			pages_give(attachment);
		return fault;
	}
	bytes = (uint64_t)attachment->mapping.pages * XEN_PAGE_BYTES;
	memory_array_init(&attachment->memory, attachment->mapping.bytes, bytes);
	*condition = stream_attach(&attachment->stream, &domain->guest, attachment->number, keys->label,
				   &attachment->memory.memory, bytes, resume, dead, sentence);
	if (*condition) {
		pages_give(attachment);
		return *condition < 0 ? FAULT_STORE : FAULT_RING;
	}
	attachment->attached = true;
	attachment->directory = keys->directory;
	attachment->written = 0;
	attachment->clock = (struct stream_clock){0};
	attachment->kick = (struct kick){0};
	return FAULT_NONE;
}

void attachment_detach(struct attachment *attachment)
{
	if (!attachment->attached)
		return;
	attachment_bind(attachment, 0);
	stream_detach(&attachment->stream);
	pages_give(attachment);
	schedule_remove(&attachment->domain->host->collector->schedule, &attachment->task);
	attachment->attached = attachment->withdrawn = attachment->capture_begun = attachment->gone = false;
}

void attachment_hold(struct attachment *attachment)
{
	const struct ring *ring = &attachment->stream.ring;
	const struct ring_slot *slot;

	if (!attachment->attached)
		return;
	slot = &ring->slots[ring->writer.slot];
	attachment->held = (struct archive_resume){
		.run = attachment->domain->guest.run,
		.stream = attachment->stream.id,
		.domid = -1,
		.number = attachment->number,
		.ring_bytes = ring->bytes,
		.ring_packets = ring->n,
		.any = true,
		.sequence = ring->cursor.sequence,
		.offset = ring->cursor.offset,
		.last_real = clock_real(),
		.last_mono = (int64_t)clock_mono(),
	};
	attachment->has_held = true;
	if (ring->cursor.offset > MPROF_PACKET_HEADER_BYTES) {
		attachment->held.last_sequence = ring->cursor.sequence;
		attachment->held.first_timestamp = ring->cursor.first;
	} else if (slot->has_first) {
		/* If this packet is still there after the resume, the ring continues. */
		attachment->held.last_sequence = ring->writer.active;
		attachment->held.first_timestamp = slot->first;
	} else {
		attachment->held.any = false;
	}
}

enum fault attachment_bind(struct attachment *attachment, uint32_t port)
{
	struct host *host = attachment->domain->host;
	uint32_t local;

	if (attachment->kick.bound) {
		host_port_set(host, attachment->local, NULL);
		xen_unbind(host->xen, attachment->local);
		attachment->kick = (struct kick){0};
	}
	if (!port)
		return FAULT_NONE;
	if (xen_bind(host->xen, attachment->domain->domid, port, &local))
		return FAULT_EVENT_CHANNEL;
	if (host_port_set(host, local, attachment)) {
		xen_unbind(host->xen, local);
		return FAULT_EVENT_CHANNEL;
	}
	attachment->local = local;
	kick_bound(&attachment->kick, clock_mono());
	return FAULT_NONE;
}

int attachment_poll(struct attachment *attachment, uint64_t now, uint64_t *next)
{
	struct stream *stream = &attachment->stream;
	unsigned steps = attachment->clock.steps;
	int r = stream_poll(stream, now, next);
	bool idle, unmask;

	if (r == RING_E_GONE || r == RING_E_RENEWED)
		return r;
	/*
	 * An idle ring always ends in unproven bytes, so WRITTEN and not the cursor says whether
	 * bytes came. The ring is idle if no bytes came and no early poll is due (cadence.soon).
	 */
	idle = r == 0 && stream->ring.writer.written == attachment->written && stream->cadence.soon == 0 &&
	       !stream->capture.wanted;
	attachment->written = stream->ring.writer.written;
	stream_clock_poll(&attachment->clock, stream, now);
	attachment->domain->clock_steps += attachment->clock.steps - steps;
	*next = kick_polled(&attachment->kick, stream->ring.writer.active, idle, now, *next, &unmask);
	if (unmask)
		xen_unmask(attachment->domain->host->xen, attachment->local);
	return r;
}
