/* Rings in memory, and their files. */
#include "recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "shared.h"

#define PACKETS MPROF_RECORDER_PACKETS

int64_t recording_thread(int process, int thread)
{
	return 20000 + 100 * process + thread;
}

int64_t recording_object(const struct world *w, int object)
{
	return w->objects[0][object].kind == OBJECT_PIPE ? -1000 - 3 - object : 0x5500000000 + 64 * (int64_t)object;
}

static struct entity entity_of_lwt(const struct recording *r, int64_t id)
{
	struct entity e = {WORLD_NONE, WORLD_NONE, WORLD_NONE};

	if (id >= LWT_WAIT(0) && id < LWT_WAIT(r->n_waits))
		e.wait = r->waits[id - LWT_WAIT(0)];
	else if (id >= LWT_THREAD(0) && id < LWT_THREAD(r->world->n_threads))
		e.thread = (int)(id - LWT_THREAD(0));
	else if (id >= LWT_OBJECT(0) && id < LWT_OBJECT(r->world->n_objects))
		e.object = (int)(id - LWT_OBJECT(0));
	return e;
}

struct entity recording_entity(const struct recording *r, int64_t id)
{
	struct entity e = {WORLD_NONE, WORLD_NONE, WORLD_NONE};
	const struct world *w = r->world;

	if (r->lwt)
		return entity_of_lwt(r, id);
	if (id <= RUN_ID_WAIT_FIRST && RUN_ID_WAIT_FIRST - id < (int64_t)r->n_waits)
		e.wait = r->waits[RUN_ID_WAIT_FIRST - id];
	for (int i = 0; i < (int)w->n_threads; i++)
		if (id == recording_thread(w->threads[i].process, i))
			e.thread = i;
	for (int i = 0; i < (int)w->n_objects; i++)
		if (id == recording_object(w, i))
			e.object = i;
	return e;
}

uint64_t recording_end(const struct recording *r, int wait)
{
	const struct wait *it = &r->world->waits[wait];

	return r->lwt && it->woken != WORLD_NEVER ? it->woken : it->end;
}

uint64_t recording_clock(const struct recording *r, uint64_t time)
{
	return r->hiding->step && time >= r->hiding->step_at ? time + (uint64_t)r->hiding->step : time;
}

/* Return what rings declare that lack the kinds HIDDEN (enum hidden_kind). */
static unsigned declared(unsigned hidden)
{
	unsigned writes = RUN_WRITES | MPROF_WRITES_STOPS;

	if (hidden & HIDDEN_SIGNALS)
		writes &= ~(MPROF_WRITES_SIGNALS | MPROF_WRITES_WAKES);
	return hidden & HIDDEN_LOCKS ? writes & ~MPROF_WRITES_WAKES : writes;
}

struct ring *ring_new(struct recording *r, const char *name, size_t bytes)
{
	struct ring *ring = &r->rings[r->n_rings];

	if (r->n_rings == RECORDING_RINGS)
		return NULL;
	/* Most of a ring stays empty, and the kernel gives no page for that. */
	ring->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring->memory == MAP_FAILED)
		return NULL;
	ring->bytes = bytes;
	ring->owner = WORLD_NONE;
	snprintf(ring->name, sizeof(ring->name), "%s", name);
	r->n_rings++;
	if (mprof_recorder_init(&ring->recorder, ring->memory, bytes, PACKETS, NULL, NULL) != MPROF_RECORDER_OK)
		return NULL;
	if (!r->lwt)
		mprof_recorder_kinds(&ring->recorder, declared(r->hiding->kinds));
	return ring;
}

void recording_deinit(struct recording *r)
{
	for (unsigned i = 0; i < r->n_rings; i++)
		munmap(r->rings[i].memory, r->rings[i].bytes);
	r->n_rings = 0;
}

static bool store(const char *path, const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, bytes, n) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return good;
}

/*
 * Copy the packets of RING to OUT, the oldest first. With IS_CUT, leave out the packet that is hidden. Return their bytes.
 */
static size_t copy_packets(struct recording *r, const struct ring *ring, bool is_cut, uint8_t *out)
{
	uint64_t last = mprof_recorder_sequence(&ring->recorder), first = last < PACKETS ? 0 : last - PACKETS + 1;
	uint64_t cut = is_cut ? first + r->hiding->cut_packet : last;
	size_t n = 0;

	for (uint64_t s = first; s <= last; s++) {
		size_t at = ring->recorder.packet_bytes * (size_t)(s % PACKETS), bytes;

		if (s == cut && s < last) {
			r->cut = true;
			r->cut_sequence = s;
			continue;
		}
		bytes = s % PACKETS == PACKETS - 1 ? ring->recorder.last_bytes : ring->recorder.packet_bytes;
		memcpy(out + n, ring->memory + at, bytes);
		n += bytes;
	}
	return n;
}

static bool is_lost(const struct recording *r, unsigned ring)
{
	return !r->lwt && ring >= r->first && ring - r->first + 1 == r->hiding->lost_ring;
}

static bool is_cut(const struct recording *r, unsigned ring)
{
	return ring >= r->first && ring - r->first + 1 == r->hiding->cut_ring;
}

bool recording_store(struct recording *r, const char *path)
{
	static uint8_t copy[RECORDING_BYTES];
	char name[300];

	for (unsigned i = 0; i < r->n_rings; i++) {
		const struct ring *ring = &r->rings[i];

		snprintf(name, sizeof(name), "%s/%s", path, ring->name);
		if (is_lost(r, i))
			continue;
		/* The image of a great ring is mostly empty: its packets alone are read faster. */
		if (is_cut(r, i) || ring->bytes == RECORDING_BYTES) {
			if (!store(name, copy, copy_packets(r, ring, is_cut(r, i), copy)))
				return false;
		} else if (!store(name, ring->memory, ring->bytes)) {
			return false;
		}
	}
	return true;
}

bool recording_shows(const struct recording *r, unsigned i)
{
	const struct place_of_fact *p = &r->facts[i];

	if (p->ring == WORLD_NONE || is_lost(r, (unsigned)p->ring))
		return false;
	if (p->sequence + PACKETS <= mprof_recorder_sequence(&r->rings[p->ring].recorder))
		return false;
	return !r->cut || !is_cut(r, (unsigned)p->ring) || p->sequence != r->cut_sequence;
}

bool recording_has(const struct recording *r, int thread)
{
	for (unsigned i = 0; i < r->world->n_facts && r->world->facts[i].time <= r->until; i++)
		if (r->world->facts[i].thread == thread && recording_shows(r, i))
			return true;
	return false;
}

bool recording_is_whole(const struct recording *r)
{
	if (r->hiding->kinds || r->hiding->step || r->cut)
		return false;
	for (unsigned i = 0; i < r->n_rings; i++)
		if (mprof_recorder_sequence(&r->rings[i].recorder) >= PACKETS || is_lost(r, i))
			return false;
	return true;
}
