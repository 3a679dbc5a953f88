/*
 * The ring of a Xen guest: it is mapped, its position is held while the guest is suspended, and it
 * is attached again. The test replaces Xen; it maps the same four pages for any references.
 */
#include <errno.h>
#include <stdlib.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>
#include <mprof/ring.h>

#include "attachment.h"
#include "check.h"
#include "collector.h"
#include "domain.h"
#include "keys.h"
#include "xen.h"

#define PACKETS	    4u
#define EVENT_BYTES 17u
#define MIB	    (1u << 20)
#define PAGES_MAX   (MPROF_RING_BYTES_MAX / XEN_PAGE_BYTES)

static uint8_t pages[PACKETS * XEN_PAGE_BYTES]; /* a ring of one packet per page */
static unsigned mapped;

int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes)
{
	(void)xen;
	(void)domid;
	(void)refs;
	CHECK_EQ_UINT(n, PACKETS);
	mapped++;
	*bytes = pages;
	return 0;
}

void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n)
{
	(void)xen;
	CHECK(bytes == pages && n == PACKETS && mapped);
	mapped--;
}

int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local)
{
	(void)xen;
	(void)domid;
	(void)port;
	(void)local;
	return -EINVAL;
}

void xen_unbind(struct xen *xen, uint32_t local)
{
	(void)xen;
	(void)local;
}

void xen_unmask(struct xen *xen, uint32_t local)
{
	(void)xen;
	(void)local;
}

int host_port_set(struct host *host, uint32_t local, struct attachment *attachment)
{
	(void)host;
	(void)local;
	(void)attachment;
	return 0;
}

/* ---- the writer ---- */

struct writer {
	uint64_t sequence, time;
	uint32_t used;
};

static void packet_begin(struct writer *w, uint64_t sequence)
{
	struct mprof_packet_header h = {
		.packet_bytes = XEN_PAGE_BYTES,
		.content_bytes = MPROF_PACKET_HEADER_BYTES,
		.count = (uint16_t)sequence,
	};

	mprof_packet_store(&h, pages + sequence % PACKETS * XEN_PAGE_BYTES);
	w->used = MPROF_PACKET_HEADER_BYTES;
}

static void event_write(struct writer *w)
{
	uint8_t *packet;

	if (w->used + EVENT_BYTES >= XEN_PAGE_BYTES)
		packet_begin(w, ++w->sequence);
	packet = pages + w->sequence % PACKETS * XEN_PAGE_BYTES;
	w->time += 10;
	mprof_store64(packet + w->used, w->time);
	packet[w->used + 8] = 7;
	mprof_store64(packet + w->used + 9, w->time);
	w->used += EVENT_BYTES;
	mprof_store32(packet + 26, w->used * 8);
}

static struct writer writer_begin(void)
{
	struct writer w = {.time = 1000000};

	memset(pages, 0, sizeof(pages));
	for (unsigned i = PACKETS; i-- > 0;)
		packet_begin(&w, i);
	return w;
}

/* ---- a domain ---- */

struct world {
	struct config config;
	struct collector collector;
	struct host host;
	struct domain domain;
	struct attachment attachment;
};

static bool world_init(struct world *w)
{
	const struct guest_identity identity = {.source = "xen", .name = "web", .key = "boot 5 uuid 0", .domid = 5};
	char error[256];

	*w = (struct world){0};
	if (!CHECK_EQ_INT(config_load(&w->config, "/dev/null", error, sizeof(error)), 0))
		return false;
	w->collector.config = &w->config;
	w->collector.shared = (struct guest_shared){
		.config = &w->config,
		.queue = queue_new(MIB, MIB, 0),
		.budget = {.share = 1, .burst_rate = MIB},
		.archiving = true,
	};
	w->host.collector = &w->collector;
	w->host.allowance.limit = PAGES_MAX;
	w->domain.host = &w->host;
	w->domain.domid = 5;
	w->attachment.domain = &w->domain;
	return CHECK_EQ_INT(guest_init(&w->domain.guest, &w->collector.shared, &identity, 0, 0), 0);
}

static void world_deinit(struct world *w)
{
	attachment_detach(&w->attachment);
	CHECK_EQ_UINT(mapped, 0);
	CHECK_EQ_UINT(w->domain.pages, 0);
	CHECK_EQ_UINT(w->host.allowance.used, 0);
	guest_deinit(&w->domain.guest);
	queue_free(w->collector.shared.queue);
	config_deinit(&w->config);
}

static enum fault attach(struct world *w, const struct archive_resume *resume)
{
	struct keys keys = {.published = true, .refs = calloc(PACKETS, sizeof(*keys.refs)), .n_refs = PACKETS};
	const char *sentence;
	enum fault fault;
	int condition;

	for (uint32_t i = 0; i < PACKETS; i++)
		keys.refs[i] = VALUE_REF_MIN + i;
	fault = attachment_attach(&w->attachment, &keys, resume, false, &sentence, &condition);
	free(keys.refs);
	return fault;
}

/* Write N events, and poll the ring after each. */
static void write_and_poll(struct world *w, struct writer *writer, unsigned n)
{
	uint64_t next;

	while (n--) {
		event_write(writer);
		CHECK_EQ_INT(attachment_poll(&w->attachment, clock_mono(), &next), 0);
	}
}

/* ---- tests ---- */

/* An empty ring has nothing by which it could be recognised, so no position is held. */
static void test_hold_nothing(void)
{
	struct world w;

	writer_begin();
	if (!world_init(&w) || !CHECK_EQ_INT(attach(&w, NULL), FAULT_NONE))
		return;
	attachment_hold(&w.attachment);
	CHECK(w.attachment.has_held && !w.attachment.held.any);
	world_deinit(&w);
}

/* If the cursor is inside a packet, the held position has this packet's first timestamp. */
static void test_hold_within(void)
{
	struct world w;
	struct writer writer = writer_begin();
	const struct archive_resume *held;
	uint64_t began;

	if (!world_init(&w) || !CHECK_EQ_INT(attach(&w, NULL), FAULT_NONE))
		return;
	while (writer.sequence < 1)
		write_and_poll(&w, &writer, 1);
	began = writer.time;
	write_and_poll(&w, &writer, 10);
	attachment_hold(&w.attachment);
	held = &w.attachment.held;
	CHECK(held->any && held->offset > MPROF_PACKET_HEADER_BYTES);
	CHECK_EQ_UINT(held->sequence, 1);
	CHECK_EQ_UINT(held->last_sequence, 1);
	CHECK_EQ_UINT(held->first_timestamp, began);
	world_deinit(&w);
}

/*
 * If the cursor is at the start of a packet, the held position has the newest packet's first
 * timestamp. The stream continues from there without a gap.
 */
static void test_hold_between(void)
{
	struct world w;
	struct writer writer = writer_begin();
	const struct archive_resume *held;
	uint64_t began;

	if (!world_init(&w) || !CHECK_EQ_INT(attach(&w, NULL), FAULT_NONE))
		return;
	while (writer.sequence < 2)
		write_and_poll(&w, &writer, 1);
	began = writer.time;
	while (w.attachment.stream.ring.cursor.sequence < 2)
		write_and_poll(&w, &writer, 1);
	attachment_hold(&w.attachment);
	held = &w.attachment.held;
	CHECK(held->any);
	CHECK_EQ_UINT(held->sequence, 2);
	CHECK_EQ_UINT(held->offset, MPROF_PACKET_HEADER_BYTES);
	CHECK_EQ_UINT(held->last_sequence, 2);
	CHECK_EQ_UINT(held->first_timestamp, began);
	attachment_detach(&w.attachment);
	CHECK_EQ_UINT(mapped, 0);
	if (CHECK_EQ_INT(attach(&w, held), FAULT_NONE)) {
		write_and_poll(&w, &writer, 10);
		CHECK_EQ_UINT(w.attachment.stream.ring.cursor.sequence, 2);
		CHECK_EQ_UINT(w.collector.shared.counters.gaps, 0);
	}
	world_deinit(&w);
}

/* All rings of one guest together have at most PAGES_MAX pages. */
static void test_pages_of_a_guest(void)
{
	struct world w;

	writer_begin();
	if (!world_init(&w))
		return;
	w.domain.pages = PAGES_MAX - PACKETS + 1;
	CHECK_EQ_INT(attach(&w, NULL), FAULT_PAGES);
	CHECK_EQ_UINT(w.domain.pages, PAGES_MAX - PACKETS + 1);
	w.domain.pages = w.host.allowance.used = w.host.allowance.large = 0;
	CHECK_EQ_INT(attach(&w, NULL), FAULT_NONE);
	CHECK_EQ_UINT(w.domain.pages, PACKETS);
	world_deinit(&w);
}

int main(void)
{
	CHECK_RUN(test_hold_nothing);
	CHECK_RUN(test_hold_within);
	CHECK_RUN(test_hold_between);
	CHECK_RUN(test_pages_of_a_guest);
	return check_done();
}
