/*
 * Begin, poll and end tracks.
 *
 * Questions to the helper are answered in their order. So the answer about a slot is about the last
 * question. A slot is used again only when the helper has answered that it writes no more, and the
 * stream is detached, which reads what the helper wrote at last.
 */
#include "vcpu-track.h"

#include <errno.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"
#include "stream-clock.h"

#define END_NS	 (300 * NS_PER_MS) /* time for the helper to write the last events */
#define LEAVE_NS (500 * NS_PER_MS) /* time to read them, if the run goes on */
#define WAIT_NS	 (2 * NS_PER_MS)
/*
 * Time before a track begins again after a silence of the helper. It doubles with each silence, because each track takes one of the run's
 * streams: a helper that is slow for days must not use up all of them.
 */
#define SILENCE_NS	(10 * NS_PER_S)
#define SILENCE_MOST_NS (3600 * NS_PER_S)

_Static_assert(VALUE_STREAMS == VCPU_NUMBER_FIRST, "guests have no stream with these numbers");

static struct vcpu_slots *slots_of(const struct vcpu_track *track)
{
	return &track->domain->host->vcpus;
}

/* ---- the slots ------------------------------------------------------------------------------- */

/*
 * Ask the helper to end what it records in SLOT. Return whether it was asked, or is gone. A silent helper
 * is asked by vcpu_slots_pulse() when it answers again, since it may write until then.
 */
static bool slot_end(struct host *host, uint32_t slot)
{
	struct vcpu_slot *s = &host->vcpus.slots[slot];
	int r = host->helper ? -EAGAIN : -EPIPE;

	if (host_helper(host))
		r = helper_ask_vcpu(host->helper, slot, 0);
	if (r == -EAGAIN)
		return false;
	s->state = VCPU_SLOT_ENDS;
	if (r == 0)
		host_asked(host, clock_mono());
	return true;
}

/* Return a free slot, or VCPU_SLOTS. */
static uint32_t slot_find(struct vcpu_slots *slots)
{
	uint32_t slot = 0;

	while (slot < VCPU_SLOTS && slots->slots[slot].state != VCPU_SLOT_FREE)
		slot++;
	if (slot == VCPU_SLOTS && !slots->said_full) {
		log_warning("The vCPUs of further guests are not recorded: %u guests are", VCPU_SLOTS);
		slots->said_full = true;
	}
	return slot;
}

void vcpu_slots_pulse(struct host *host)
{
	for (uint32_t i = 0; i < VCPU_SLOTS; i++)
		if (host->vcpus.slots[i].state == VCPU_SLOT_ON && !host->vcpus.slots[i].track)
			slot_end(host, i);
}

/* A silent helper has ended TRACK: let some time pass before the next one. */
static void track_put_off(struct vcpu_track *track, uint64_t now)
{
	uint64_t wait = SILENCE_NS;

	for (uint32_t i = 0; i < track->silences && wait < SILENCE_MOST_NS; i++)
		wait *= 2;
	track->silences++;
	track->begin_from = now + (wait < SILENCE_MOST_NS ? wait : SILENCE_MOST_NS);
}

void vcpu_slots_lost(struct host *host, uint64_t now)
{
	for (uint32_t i = 0; i < VCPU_SLOTS; i++) {
		struct vcpu_track *track = host->vcpus.slots[i].track;

		if (!track)
			continue;
		if (track->phase == VCPU_PHASE_ON)
			track_put_off(track, now);
		if (track->phase == VCPU_PHASE_ASKED)
			vcpu_track_detach(track);
		else
			vcpu_track_end(track, now);
	}
}

/* ---- the clock of the guest ------------------------------------------------------------------ */

/* Return the most exact bound of the rings' polls, or NULL if none is known. */
static const struct clock_bound *bound_best(const struct domain *domain)
{
	const struct clock_bound *best = NULL, *bound;

	for (const struct attachment *a = domain->attachments; a; a = a->next) {
		bound = a->attached ? stream_clock_bound(&a->clock) : NULL;
		if (bound && (!best || bound->uncertainty < best->uncertainty))
			best = bound;
	}
	return best;
}

static void bound_store(const struct vcpu_track *track, const struct clock_bound *bound)
{
	struct vcpu_clock *shared = &slots_of(track)->area->clocks[track->slot];

	atomic_store_explicit(&shared->offset, (uint64_t)bound->offset, memory_order_relaxed);
	atomic_store_explicit(&shared->uncertainty, bound->uncertainty, memory_order_relaxed);
}

/* ---- begin ----------------------------------------------------------------------------------- */

static void track_begin(struct vcpu_track *track, const struct clock_bound *bound, uint64_t now)
{
	struct vcpu_slots *slots = slots_of(track);
	struct host *host = track->domain->host;
	uint32_t slot;

	if (!host_helper(host))
		return;
	slot = slot_find(slots);
	if (slot == VCPU_SLOTS)
		return;
	track->slot = slot;
	bound_store(track, bound);
	if (helper_ask_vcpu(host->helper, slot, track->domain->domid))
		return; /* the next poll asks again */
	host_asked(host, now);
	track->phase = VCPU_PHASE_ASKED;
	track->steps = track->domain->clock_steps;
	slots->slots[slot] = (struct vcpu_slot){VCPU_SLOT_BEGINS, track};
}

/* Return the number of the run's next stream vcpu. */
static uint32_t number_next(struct vcpu_track *track)
{
	const struct domain *domain = track->domain;

	while (track->streams < VCPU_NUMBERS &&
	       collector_resume_stream(domain->host->collector, domain->guest.run, VCPU_NUMBER_FIRST + track->streams))
		track->streams++;
	return VCPU_NUMBER_FIRST + track->streams;
}

/* The run has had all its streams. */
static void track_refuse(struct vcpu_track *track)
{
	track->refused = true;
	log_write(LOG_LEVEL_WARNING, track->domain->name,
		  "vCPUs are recorded no longer: this run has had all of its %u streams vcpu", VCPU_NUMBERS);
}

static void track_attach(struct vcpu_track *track, uint32_t vcpus, uint64_t now)
{
	struct domain *domain = track->domain;
	uint32_t number = number_next(track);
	const char *fault = "";

	memory_array_init(&track->memory, slots_of(track)->area->rings[track->slot], VCPU_RING_BYTES);
	if (number - VCPU_NUMBER_FIRST >= VCPU_NUMBERS) {
		track_refuse(track);
		vcpu_track_detach(track);
		return;
	}
	if (stream_attach(&track->stream, &domain->guest, number, "vcpu", &track->memory.memory, VCPU_RING_BYTES, NULL,
			  false, &fault)) {
		track->refused = true;
		vcpu_track_detach(track);
		return;
	}
	track->streams++;
	track->phase = VCPU_PHASE_ON;
	log_write(LOG_LEVEL_INFO, domain->name, "vCPUs are recorded: stream=%u vcpus=%u sampled=%u run=%lld", number,
		  vcpus, vcpus < VCPU_MAX ? vcpus : VCPU_MAX, (long long)domain->guest.run);
	collector_at(domain->host->collector, &track->task, now);
}

void vcpu_slots_answer(struct host *host, const struct helper_answer *answer, uint64_t now)
{
	struct vcpu_slot *slot = answer->tag < VCPU_SLOTS ? &host->vcpus.slots[answer->tag] : NULL;
	struct vcpu_track *track = slot ? slot->track : NULL;

	if (!slot || (slot->state != VCPU_SLOT_BEGINS && slot->state != VCPU_SLOT_ENDS))
		return;
	if (slot->state == VCPU_SLOT_ENDS && track && track->stream.guest) {
		slot->state = VCPU_SLOT_READ;
	} else if (slot->state == VCPU_SLOT_ENDS || answer->error) {
		*slot = (struct vcpu_slot){0};
	} else {
		slot->state = VCPU_SLOT_ON;
		if (!track)
			slot_end(host, (uint32_t)answer->tag);
	}
	if (!track)
		return;
	if (track->phase == VCPU_PHASE_ASKED && answer->error) {
		track->phase = VCPU_PHASE_OFF;
		track->refused = true;
		log_write(LOG_LEVEL_WARNING, track->domain->name, "vCPUs cannot be recorded: error=%s",
			  strerror(-answer->error));
	} else if (track->phase == VCPU_PHASE_ASKED) {
		track_attach(track, (uint32_t)answer->n, now);
	} else if (track->phase == VCPU_PHASE_ENDING) {
		track->phase = VCPU_PHASE_ENDED;
		collector_at(host->collector, &track->task, now);
	}
}

void vcpu_track_step(struct vcpu_track *track, uint64_t now)
{
	bool wanted = track->domain->guest.policy.vcpu;
	const struct clock_bound *bound;

	if (!slots_of(track)->area || (track->phase != VCPU_PHASE_OFF && track->phase != VCPU_PHASE_ON))
		return;
	if (track->phase == VCPU_PHASE_OFF && (!wanted || track->refused || now < track->begin_from))
		return;
	if (track->phase == VCPU_PHASE_OFF && track->streams >= VCPU_NUMBERS) {
		track_refuse(track);
		return;
	}
	if (track->phase == VCPU_PHASE_ON && (!wanted || track->steps != track->domain->clock_steps)) {
		vcpu_track_end(track, now);
		return;
	}
	bound = bound_best(track->domain);
	if (bound && track->phase == VCPU_PHASE_ON)
		bound_store(track, bound);
	else if (bound)
		track_begin(track, bound, now);
}

/* ---- polls ----------------------------------------------------------------------------------- */

/* Advance the end of the track. Return false if the stream must not be polled yet. */
static bool end_step(struct vcpu_track *track, uint64_t now)
{
	struct host *host = track->domain->host;

	if (track->phase != VCPU_PHASE_ENDING)
		return true;
	if (!track->end_asked)
		track->end_asked = slot_end(host, track->slot);
	if (now < track->end_by) {
		collector_at(host->collector, &track->task, track->end_asked ? track->end_by : now + WAIT_NS);
		return false;
	}
	track->phase = VCPU_PHASE_ENDED;
	return true;
}

static void track_run(struct task *task, uint64_t now)
{
	struct vcpu_track *track = (struct vcpu_track *)task;
	struct domain *domain = track->domain;
	uint64_t next;
	int r;

	if (!track->stream.guest || !end_step(track, now))
		return;
	r = stream_poll(&track->stream, now, &next);
	if (domain->phase == PHASE_ENDING && guest_capture_done(&domain->guest)) {
		domain_closed(domain, now);
	} else if (r == RING_E_GONE || r == RING_E_RENEWED ||
		   (domain->phase != PHASE_ENDING && track->phase == VCPU_PHASE_ENDED && now >= track->leave_at)) {
		vcpu_track_detach(track);
	} else {
		if (track->phase == VCPU_PHASE_ENDED && next > now + LEAVE_NS / 4)
			next = now + LEAVE_NS / 4;
		collector_at(domain->host->collector, task, next);
	}
}

/* ---- the interface --------------------------------------------------------------------------- */

void vcpu_track_init(struct vcpu_track *track, struct domain *domain)
{
	*track = (struct vcpu_track){.task.run = track_run, .domain = domain};
}

void vcpu_track_renew(struct vcpu_track *track)
{
	track->streams = track->silences = 0;
	track->begin_from = 0;
	track->refused = false;
}

void vcpu_track_end(struct vcpu_track *track, uint64_t now)
{
	if (track->phase == VCPU_PHASE_ASKED) {
		vcpu_track_detach(track);
		return;
	}
	if (track->phase == VCPU_PHASE_ON) {
		track->phase = host_helper(track->domain->host) ? VCPU_PHASE_ENDING : VCPU_PHASE_ENDED;
		track->end_asked = false;
		track->end_by = now + END_NS;
		track->leave_at = track->end_by + LEAVE_NS;
	}
	vcpu_track_poll_soon(track, now);
}

void vcpu_track_detach(struct vcpu_track *track)
{
	struct vcpu_slot *slot;

	if (track->phase == VCPU_PHASE_OFF)
		return;
	stream_detach(&track->stream);
	slot = &slots_of(track)->slots[track->slot];
	if (slot->track == track) {
		slot->track = NULL;
		/* If there is no room for the question now, vcpu_slots_pulse() asks. */
		if (slot->state == VCPU_SLOT_ON)
			slot_end(track->domain->host, track->slot);
		else if (slot->state == VCPU_SLOT_READ)
			*slot = (struct vcpu_slot){0};
	}
	schedule_remove(&track->domain->host->collector->schedule, &track->task);
	track->phase = VCPU_PHASE_OFF;
}

void vcpu_track_poll_soon(struct vcpu_track *track, uint64_t now)
{
	if (track->stream.guest)
		collector_at(track->domain->host->collector, &track->task, now);
}
