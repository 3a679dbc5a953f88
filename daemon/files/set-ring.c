/*
 * One ring of a set, from the first attempt to attach it until its file is forgotten.
 *
 * The ring is attached as a stream of the set's guest. Each poll follows the state of the set: while
 * the set is open, a ring that was withdrawn gets a capture of its own; while it ends, the poll takes
 * part in the capture of all rings; while it rests, the poll only looks whether a program writes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "printable.h"
#include "ring-set.h"

#define WITHDRAW_NS NS_PER_MS /* time between polls while the capture of a withdrawn ring waits */

void set_ring_at(struct set_ring *ring, uint64_t due)
{
	collector_at(ring->set->dir->collector, &ring->task, due);
}

void set_ring_closed(struct set_ring *ring, uint64_t now)
{
	ring->check_until = now + ASK_NS;
	ring->retry = RING_FILE_RETRY_MIN;
	set_ring_at(ring, now);
}

void set_ring_free(struct set_ring *ring)
{
	struct source_dir *dir = ring->set->dir;

	LIST_REMOVE(ring, entry);
	ring->set->n_rings--;
	dir->n_files--;
	if (ring->set->left)
		ring_set_list_soon(ring->set);
	schedule_remove(&dir->collector->schedule, &ring->task);
	stream_detach(&ring->stream);
	close(ring->fd);
	free(ring->name);
	free(ring);
	if (dir->left)
		dir_scan(dir, false);
}

void set_ring_withdraw(struct set_ring *ring, uint64_t now)
{
	ring->withdrawn = true;
	set_ring_at(ring, now);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Return whether the file holds a whole ring, without attaching it to the guest. */
static bool is_ring(struct set_ring *ring, uint64_t bytes, bool dead)
{
	struct ring probe;
	const char *fault = "";

	if (ring_attach(&probe, &ring->memory.memory, bytes, NULL, dead, &fault))
		return false;
	ring_detach(&probe);
	return true;
}

/* The ring is attached. RESUME is the archive's record of its stream; NULL = it is new. */
static void ring_attached(struct set_ring *ring, const struct archive_resume *resume, const struct stat *st, bool dead,
			  uint64_t now)
{
	struct ring_set *set = ring->set;

	ring->closed = dead;
	ring->rests = dead && ring_file_rests(resume, st);
	ring->written = ring->stream.ring.writer.written;
	ring->grew = now;
	if (resume)
		collector_resume_attached(set->dir->collector, resume->run, resume->number);
	if (dead && resume && resume->unfinished)
		set->unfinished = resume->unfinished;
	ring->unpolled = ring->rests;
	log_write_limited(&set->dir->lives, LOG_LEVEL_INFO, set->guest.name,
			  "%s, stream=%u name=%s bytes=%llu packets=%u run=%lld", resume ? "ring goes on" : "new ring",
			  ring->stream.number, ring->stream.label, (unsigned long long)ring->stream.ring.bytes,
			  ring->stream.ring.n, (long long)set->guest.run);
	if (!ring->rests && !guest_is_running(&set->guest) && guest_set_state(&set->guest, "running", NULL))
		log_warning("%s: out of memory", set->guest.name);
	set_ring_at(ring, ring->rests ? now + REST_NS : now);
}

static int ring_take(struct set_ring *ring, const struct stat *st, bool dead, uint64_t now)
{
	struct ring_set *set = ring->set;
	struct collector *c = set->dir->collector;
	CLEANUP(freep) char *label = text_printable(ring->name);
	const struct resume_entry *entry = label ? collector_resume_label(c, set->resumed, label) : NULL;
	const struct archive_resume *resume = entry ? &entry->resume : NULL;
	const char *fault = "";
	int r;

	if (!label)
		return -ENOMEM;
	r = stream_attach(&ring->stream, &set->guest, resume ? resume->number : set->next_number, label,
			  &ring->memory.memory, (uint64_t)st->st_size, resume, dead, &fault);
	if (r == RING_E_RENEWED) {
		/* Another ring has the name now. The end of the run declares the loss of the old one's end. */
		resume = NULL;
		r = stream_attach(&ring->stream, &set->guest, set->next_number, label, &ring->memory.memory,
				  (uint64_t)st->st_size, NULL, dead, &fault);
	}
	if (r)
		return r;
	set->next_number += !resume;
	ring_attached(ring, resume, st, dead, now);
	return 0;
}

static void refuse(struct set_ring *ring)
{
	if (ring->refused)
		return;
	ring->refused = true;
	ring->set->dir->collector->shared.counters.refused_rings++;
}

static void ring_retry(struct set_ring *ring, uint64_t now)
{
	set_ring_at(ring, now + ring->retry);
	ring->retry = 2 * ring->retry < RETRY_MAX ? 2 * ring->retry : RETRY_MAX;
}

/* The file has no ring, or its ring is not attached: attach it if the set may have it. */
static void step_attach(struct set_ring *ring, uint64_t now)
{
	struct ring_set *set = ring->set;
	enum writers writers;
	struct stat st;

	if (ring->withdrawn || fstat(ring->fd, &st) < 0) {
		set_ring_free(ring);
		return;
	}
	/* Check for writers before reading: if none was left, the bytes that are read are final. */
	writers = ring_file_writers(ring->fd);
	if ((ring->spent && writers != WRITERS_SOME) || set->state == SET_ENDING) {
		set_ring_at(ring, now + REST_NS);
		return;
	}
	memory_file_init(&ring->memory, ring->fd);
	ring->lease_denied = writers == WRITERS_UNKNOWN;
	ring->bytes = (uint64_t)st.st_size;
	ring->measured = now;
	if ((set->state == SET_REST && !is_ring(ring, ring->bytes, writers == WRITERS_NONE)) || ring_set_guest(set) ||
	    ring_take(ring, &st, writers == WRITERS_NONE, now)) {
		if (writers != WRITERS_SOME)
			refuse(ring);
		ring_retry(ring, now);
		return;
	}
	ring->spent = ring->refused = false;
	if (ring->closed)
		ring_set_check(set, now);
}

/* ---- polls ----------------------------------------------------------------------------------- */

/* The file was truncated or has grown, or its ring was initialised again: the old bytes are gone, which is declared. */
static void ring_renewed(struct set_ring *ring, uint64_t now)
{
	log_write_limited(&ring->set->dir->lives, LOG_LEVEL_INFO, ring->set->guest.name,
			  "the ring was begun anew, stream=%u name=%s run=%lld", ring->stream.number,
			  ring->stream.label, (long long)ring->set->guest.run);
	if (guest_is_running(&ring->set->guest))
		stream_declare_unseen(&ring->stream);
	stream_detach(&ring->stream);
	ring->closed = ring->rests = ring->capture_begun = false;
	ring->retry = RING_FILE_RETRY_MIN;
	set_ring_at(ring, now + ring->retry);
	if (ring->set->state == SET_ENDING)
		ring_set_ending(ring->set, now);
}

static bool resized(struct set_ring *ring, uint64_t now)
{
	struct stat st;

	if (ring->set->state == SET_ENDING || now - ring->measured < MEASURE_NS)
		return false;
	ring->measured = now;
	return fstat(ring->fd, &st) < 0 || (uint64_t)st.st_size != ring->bytes;
}

/*
 * End a withdrawn ring, one of several of the guest, with a capture of its own. Return true if the
 * ring was freed, false if the capture is not complete yet.
 */
static bool step_withdraw(struct set_ring *ring)
{
	struct guest *guest = &ring->set->guest;

	if (!guest_capture_done(guest))
		return false;
	if (!ring->capture_begun) {
		ring->capture_begun = guest_capture_begin(guest, "ended", NULL, true, &ring->stream) > 0;
		return false;
	}
	log_write_limited(&ring->set->dir->lives, LOG_LEVEL_INFO, guest->name,
			  "ring withdrawn, stream=%u name=%s run=%lld", ring->stream.number, ring->stream.label,
			  (long long)guest->run);
	set_ring_free(ring);
	return true;
}

/*
 * Ask for writers if one may have closed the file, or if the ring was quiet. Return whether *WRITERS is an answer. Without a lease
 * only a close tells.
 */
static bool ask_writers(struct set_ring *ring, uint64_t now, enum writers *writers)
{
	bool may_be_closed = now < ring->check_until;

	*writers = WRITERS_SOME;
	if (!may_be_closed &&
	    (ring->lease_denied || ring->set->state != SET_OPEN || !ring_file_is_quiet(ring->grew, ring->asked, now)))
		return false;
	*writers = ring_file_writers(ring->fd);
	ring->asked = now;
	if (*writers == WRITERS_UNKNOWN)
		ring->lease_denied = true;
	return may_be_closed || *writers != WRITERS_UNKNOWN;
}

/* Note whether a writer is left. WRITERS was asked before the poll, so the poll has seen all bytes. */
static void note_writers(struct set_ring *ring, bool asked, enum writers writers, uint64_t now)
{
	if (asked)
		ring->closed = writers != WRITERS_SOME;
	else if (ring->lease_denied)
		ring->closed = now - ring->grew > SILENCE_NS;
}

static void step_open(struct set_ring *ring, bool asked, enum writers writers, uint64_t now, uint64_t next)
{
	note_writers(ring, asked, writers, now);
	if (ring->withdrawn) {
		if (step_withdraw(ring))
			return;
		next = next < now + WITHDRAW_NS ? next : now + WITHDRAW_NS;
	}
	set_ring_at(ring, next);
	if (ring->closed || ring->set->orphan)
		ring_set_check(ring->set, now);
}

static void step_rest(struct set_ring *ring, bool grew, uint64_t now)
{
	if (ring->withdrawn) {
		set_ring_free(ring);
		return;
	}
	if (grew && !ring->unpolled) {
		/* Other rings are polled before this one is asked for writers: they must not end the run. */
		ring->closed = false;
		ring_set_wake(ring->set);
		set_ring_closed(ring, now);
		return;
	}
	ring->unpolled = false;
	set_ring_at(ring, now + REST_NS);
}

static void step_poll(struct set_ring *ring, uint64_t now)
{
	enum writers writers;
	/* Ask before the poll: if no writer is left, the poll sees all bytes that will ever come. */
	bool asked = ask_writers(ring, now, &writers), grew;
	uint64_t next;
	int r;

	if (resized(ring, now)) {
		ring_renewed(ring, now);
		return;
	}
	r = stream_poll(&ring->stream, now, &next);
	if (r == RING_E_GONE || r == RING_E_RENEWED) {
		ring_renewed(ring, now);
		return;
	}
	grew = ring->stream.ring.writer.written != ring->written;
	ring->written = ring->stream.ring.writer.written;
	if (grew)
		ring->grew = now;
	if (grew && !ring->unpolled) {
		ring->rests = false;
		if (ring->closed && !asked) {
			ring->closed = false; /* a program has opened the file again */
			ring->check_until = now + ASK_NS;
		}
	}
	if (ring->set->state == SET_OPEN) {
		step_open(ring, asked, writers, now, next);
	} else if (ring->set->state == SET_REST) {
		step_rest(ring, grew, now);
	} else {
		set_ring_at(ring, next);
		if (guest_capture_done(&ring->set->guest))
			ring_set_ending(ring->set, now);
	}
}

static void set_ring_run(struct task *task, uint64_t now)
{
	struct set_ring *ring = (struct set_ring *)task;

	if (ring->stream.guest)
		step_poll(ring, now);
	else
		step_attach(ring, now);
}

bool set_ring_add(struct ring_set *set, const char *name, const struct stat *st, uint64_t now)
{
	CLEANUP(closep) int fd = ring_file_open(set->fd, name);
	struct set_ring *ring = fd < 0 ? NULL : calloc(1, sizeof(*ring));
	struct stat opened;

	if (ring)
		ring->name = strdup(name);
	if (!ring || !ring->name || fstat(fd, &opened) < 0 || !S_ISREG(opened.st_mode) || opened.st_dev != st->st_dev ||
	    opened.st_ino != st->st_ino) {
		if (ring)
			free(ring->name);
		free(ring);
		return false;
	}
	ring->task.run = set_ring_run;
	ring->set = set;
	ring->fd = TAKE_FD(fd);
	ring->dev = st->st_dev;
	ring->ino = st->st_ino;
	ring->retry = RING_FILE_RETRY_MIN;
	ring->seen = set->listings;
	LIST_INSERT_HEAD(&set->rings, ring, entry);
	set->n_rings++;
	set->dir->n_files++;
	set_ring_at(ring, now);
	return true;
}
