/*
 * Streams and grants are scarce in a guest: the collector takes 64 streams, and the kernel has a limit
 * of grants. So each process gets a part of what is left when it begins, and no process takes from
 * another. The keeper holds a ring's pages as long as the collector may read them.
 */
#include "xen-guest.h"

#include <errno.h>
#include <fcntl.h>
#include <mprof/bytes.h>
#include <mprof/publisher-xen.h>
#include <mprof/recorder.h>
#include <mprof/ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared.h"

#define PAGE	       4096u
#define OWN_RINGS      2u  /* of a process, written by the keeper */
#define STREAMS_MOST   16u /* of a process */
#define STREAMS_LEAST  4u
#define SHARED_RINGS   2u
#define MINUTE_NS      60000000000u
#define PER_MINUTE     150u /* rings published; each is five writes, and the collector allows 1,000 */
#define WITHDRAW_TRIES 50u
#define COUNTS_NEW     0x0000000100020003u /* the packets' counts in a ring without events */
_Static_assert(MPROF_RECORDER_PACKETS == 4, "the counts of the packets are one number");

struct guest {
	struct mprof_xen xen;
	uint64_t ring_bytes;
	uint32_t streams;   /* reserved by all processes */
	uint32_t grants;    /* reserved */
	uint32_t published; /* streams of this keeper in XenStore */
	uint64_t minute;    /* begin of the current minute */
	uint32_t in_minute; /* rings published since then */
};

struct ring {
	struct mprof_xen_ring shared;
	uint8_t *memory;
	uint64_t counts; /* the packets' counts when domain 0 was told; at first those of a new ring */
	char name[16];
	bool said;
};

struct guest_process {
	struct guest *guest;
	char name[40];
	uint32_t streams, grants; /* reserved */
	uint64_t withdrawn;	  /* when the keys were removed; 0 = not yet */
	uint32_t tries;
	uint32_t n;
	struct ring rings[RUN_RINGS + OWN_RINGS];
};

uint64_t guest_ring_bytes(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- may it be done? ----------------------------------------------------------------------------- */

static const char *reason(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "this is domain 0, whose rings nobody collects from Xen; use --dir";
	case -ENOSYS:
		return "this kernel's pages are larger than 4,096 bytes, and a ring for domain 0 needs pages of "
		       "that size; boot a kernel that has them, or use --dir";
	case -ENODEV:
		return "no /dev/xen/gntalloc, /dev/xen/evtchn or XenStore here: is this a guest of Xen? Then "
		       "load the module: modprobe xen-gntalloc";
	case -EACCES:
		return "/dev/xen/gntalloc, /dev/xen/evtchn or /dev/xen/xenbus may not be opened; run mprof-run "
		       "as root, or give its user access to them";
	}
	return strerror(-error);
}

/* Return the grants of a process with RINGS rings of its threads. */
static uint64_t grants_of(uint64_t ring_bytes, uint64_t keeper_bytes, uint32_t rings)
{
	return OWN_RINGS * mprof_xen_grants(keeper_bytes) + (uint64_t)rings * mprof_xen_grants(ring_bytes);
}

bool guest_check(uint64_t ring_bytes, char *text, size_t size)
{
	uint64_t keeper_bytes = ring_bytes < RUN_KEEPER_RING_MAX ? ring_bytes : RUN_KEEPER_RING_MAX;
	uint64_t least = grants_of(ring_bytes, keeper_bytes, 1);
	uint64_t most = grants_of(ring_bytes, keeper_bytes, STREAMS_MOST - OWN_RINGS);
	uint32_t limit = mprof_xen_grants_limit();
	struct mprof_xen xen;
	int r = mprof_xen_open(&xen);

	if (r) {
		snprintf(text, size, "%s", reason(r));
		return false;
	}
	mprof_xen_close(&xen);
	if (!limit || least <= limit)
		return true;
	snprintf(text, size,
		 "rings of %llu bytes need %llu grants for a process with one thread, and %llu with many, but the "
		 "kernel "
		 "allows %u to all programs; raise that: echo %llu >/sys/module/xen_gntalloc/parameters/limit, and for "
		 "good "
		 "by the boot parameter xen_gntalloc.limit=%llu",
		 (unsigned long long)ring_bytes, (unsigned long long)least, (unsigned long long)most, limit,
		 (unsigned long long)most, (unsigned long long)most);
	return false;
}

struct guest *guest_open(uint64_t ring_bytes)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g || mprof_xen_open(&g->xen)) {
		free(g);
		return NULL;
	}
	g->ring_bytes = ring_bytes;
	return g;
}

/* ---- the part of a process ----------------------------------------------------------------------- */

/* Return the number of streams that a further process may have; 0 = none. */
static uint32_t streams_part(const struct guest *g)
{
	int all = mprof_xen_streams(&g->xen);
	uint32_t others = all > (int)g->published ? (uint32_t)all - g->published : 0;
	uint32_t taken = others + g->streams, left = taken < MPROF_XEN_STREAMS_MAX ? MPROF_XEN_STREAMS_MAX - taken : 0;

	if (all < 0 || left < STREAMS_LEAST)
		return 0;
	left /= 2;
	return left > STREAMS_MOST ? STREAMS_MOST : left < STREAMS_LEAST ? STREAMS_LEAST : left;
}

/* Return how many of RINGS rings the kernel's limit of grants leaves to a further process. */
static uint32_t rings_granted(const struct guest *g, uint64_t keeper_bytes, uint32_t rings)
{
	uint32_t limit = mprof_xen_grants_limit();

	while (limit && rings && g->grants + grants_of(g->ring_bytes, keeper_bytes, rings) > limit)
		rings--;
	return rings;
}

struct guest_process *guest_process_new(struct guest *g, const char *name, uint64_t keeper_bytes, uint32_t *own,
					uint32_t *shared)
{
	uint32_t streams = streams_part(g);
	uint32_t rings = streams ? rings_granted(g, keeper_bytes, streams - OWN_RINGS) : 0;
	struct guest_process *p = rings ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->guest = g;
	snprintf(p->name, sizeof(p->name), "%s", name);
	*shared = rings > 2 * SHARED_RINGS ? SHARED_RINGS : 1;
	*own = rings - *shared;
	p->streams = rings + OWN_RINGS;
	p->grants = (uint32_t)grants_of(g->ring_bytes, keeper_bytes, rings);
	g->streams += p->streams;
	g->grants += p->grants;
	return p;
}

/* ---- rings ----------------------------------------------------------------------------------------- */

/* Make a ring and map it. Return NULL, with *ERROR set to -errno, if that fails. */
static struct ring *ring_make(struct guest_process *p, const char *name, uint64_t bytes, int *error)
{
	struct ring *r = &p->rings[p->n];

	*error = -ENOSPC;
	if (p->n == p->streams || p->withdrawn)
		return NULL;
	*error = mprof_xen_ring_make(&p->guest->xen, &r->shared, bytes);
	if (*error)
		return NULL;
	r->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->shared.device, 0);
	if (r->memory == MAP_FAILED) {
		*error = -errno;
		mprof_xen_ring_free(&p->guest->xen, &r->shared);
		return NULL;
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->counts = COUNTS_NEW;
	p->n++;
	return r;
}

int guest_ring_write(struct guest_process *p, const char *ring, uint64_t bytes, void **memory)
{
	int error;
	const struct ring *r = ring_make(p, ring, bytes, &error);

	if (!r)
		return error;
	*memory = r->memory;
	return 0;
}

int guest_ring_give(struct guest_process *p, const char *ring)
{
	int error, fd;
	const struct ring *r = ring_make(p, ring, p->guest->ring_bytes, &error);

	if (!r)
		return error;
	fd = fcntl(r->shared.device, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static void ring_free(struct guest_process *p, struct ring *r)
{
	munmap(r->memory, r->shared.bytes);
	mprof_xen_ring_free(&p->guest->xen, &r->shared);
}

void guest_ring_drop(struct guest_process *p)
{
	if (p->n && !p->rings[p->n - 1].said)
		ring_free(p, &p->rings[--p->n]);
}

/* The recorder stores the first packet's magic last. The process that writes the ring is not trusted. */
static bool ring_is_ready(const struct ring *r)
{
	uint32_t magic = mprof_load32(r->memory);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return magic == MPROF_PACKET_MAGIC;
}

/* Return a number that changes when a packet is finished. */
static uint64_t ring_counts(const struct ring *r)
{
	size_t packet = r->shared.bytes / MPROF_RECORDER_PACKETS & ~(size_t)(MPROF_RECORDER_ALIGNMENT - 1);
	uint64_t counts = 0;

	for (size_t i = 0; i < MPROF_RECORDER_PACKETS; i++)
		counts =
			counts << 16 | mprof_load16(r->memory + i * packet + offsetof(struct mprof_packet_wire, count));
	return counts;
}

/* Return whether one more ring may be published in this minute, and count it. */
static bool rate_take(struct guest *g, uint64_t time)
{
	if (time - g->minute >= MINUTE_NS) {
		g->minute = time;
		g->in_minute = 0;
	}
	return g->in_minute < PER_MINUTE && ++g->in_minute;
}

static void ring_say(struct guest_process *p, struct ring *r, uint64_t time)
{
	char name[64];

	if (!ring_is_ready(r) || !rate_take(p->guest, time))
		return;
	snprintf(name, sizeof(name), "%s %s", p->name, r->name);
	/* A ring that XenStore refuses is tried again with the next step. */
	if (mprof_xen_ring_publish(&p->guest->xen, &r->shared, name))
		return;
	r->said = true;
	p->guest->published++;
}

void guest_process_step(struct guest_process *p, uint64_t time)
{
	for (uint32_t i = 0; i < p->n && !p->withdrawn; i++) {
		struct ring *r = &p->rings[i];
		uint64_t counts;

		if (!r->said) {
			ring_say(p, r, time);
			continue;
		}
		counts = ring_counts(r);
		if (counts != r->counts)
			mprof_xen_ring_kick(&p->guest->xen, &r->shared);
		r->counts = counts;
	}
}

/* ---- the end --------------------------------------------------------------------------------------- */

static bool rings_withdraw(struct guest_process *p)
{
	struct mprof_xen_ring *said[RUN_RINGS + OWN_RINGS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->rings[i].said)
			said[n++] = &p->rings[i].shared;
	if (n && mprof_xen_rings_withdraw(&p->guest->xen, said, n))
		return false;
	p->guest->published -= n;
	return true;
}

bool guest_process_end(struct guest_process *p, uint64_t time)
{
	if (!p->withdrawn && !rings_withdraw(p) && p->tries++ < WITHDRAW_TRIES)
		return false;
	if (!p->withdrawn)
		p->withdrawn = time;
	if (time - p->withdrawn < MPROF_XEN_UNMAP_MS * 1000000ull)
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		ring_free(p, &p->rings[i]);
	p->guest->streams -= p->streams;
	p->guest->grants -= p->grants;
	free(p);
	return true;
}
