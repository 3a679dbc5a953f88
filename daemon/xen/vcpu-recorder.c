/*
 * Sample vCPUs and record them.
 *
 * Each vCPU has an open part: its state since a moment. A sample closes the part if the state
 * changed, or once a second. The parts that a round of samples closes end after those of the round
 * before. They are sorted by their ends, because the times of a ring do not go back.
 */
#include "vcpu-recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <mprof/recorder.h>

#include "clock.h"
#include "helper.h"
#include "vcpu-interval.h"
#include "xenctrl.h"

#define FLUSH_NS NS_PER_S /* the longest time for which a part stays open */
#define REST	 19u	  /* after a round nothing is sampled for this many times its processor time */
#define MEAN	 8u	  /* number of rounds over which that time is averaged */
#define ALL_MAX	 8192u	  /* no version of Xen has more vCPUs in a domain */

struct vcpu {
	struct vcpu_sample sample; /* newest sample */
	enum vcpu_state state;	   /* state of the open part */
	uint64_t from;		   /* begin of the open part, CLOCK_MONOTONIC ns */
};

struct recording {
	bool on;
	bool gone; /* Xen did not know the domain any more: its number may belong to another one */
	uint32_t domid;
	uint32_t n, all; /* number of vCPUs that are sampled, and of all */
	const struct vcpu_clock *clock;
	struct mprof_recorder ring;
	uint64_t labelled;    /* number of the packet that has the labels, plus 1; 0 = none */
	uint64_t last;	      /* time of the last event, ns of the guest's clock */
	uint64_t flushed;     /* when the counters were last written, CLOCK_MONOTONIC ns */
	uint64_t uncertainty; /* as last written */
	uint64_t ran, waited, refused, refused_written;
	struct vcpu vcpus[VCPU_MAX];
};

/* A part that is closed. */
struct closed {
	uint32_t vcpu;
	struct vcpu_part part;
};

#define CLOSED_MAX (VCPU_MAX * (VCPU_PARTS + 1))

struct vcpu_recorder {
	struct xenctrl *xenctrl;
	struct vcpu_area *area;
	uint64_t interval, due;
	uint64_t cost; /* mean processor time of a round, ns */
	size_t n_closed;
	struct closed closed[CLOSED_MAX];
	struct recording recordings[VCPU_SLOTS];
};

/* ---- events ---------------------------------------------------------------------------------- */

/* Set the time of the next events to AT, CLOCK_MONOTONIC ns. */
static void time_set(struct recording *r, uint64_t at)
{
	uint64_t guest = at - atomic_load_explicit(&r->clock->offset, memory_order_relaxed);

	/* The estimate of the offset changes, but times do not go back. */
	if (guest > r->last)
		r->last = guest;
	mprof_recorder_at(&r->ring, r->last);
}

/* Write the labels into each packet, so that a reader of one packet knows the vCPUs. */
static void labels_write(struct recording *r)
{
	char label[16];

	if (r->labelled == mprof_recorder_sequence(&r->ring) + 1)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		int n = snprintf(label, sizeof(label), "vcpu%u", i);

		mprof_recorder_label(&r->ring, (int64_t)MPROF_THREAD_VCPU - i, label, (size_t)n);
	}
	r->labelled = mprof_recorder_sequence(&r->ring) + 1;
}

static void counters_write(struct recording *r)
{
	static const struct mprof_text running = MPROF_COUNTER_TEXT("vcpu running ns", MPROF_COUNTER_TOTAL);
	static const struct mprof_text waiting = MPROF_COUNTER_TEXT("vcpu waiting ns", MPROF_COUNTER_TOTAL);
	static const struct mprof_text unsure = MPROF_COUNTER_TEXT("vcpu clock uncertainty ns", MPROF_COUNTER_GAUGE);
	static const struct mprof_text odd = MPROF_COUNTER_TEXT("vcpu refused", MPROF_COUNTER_TOTAL);
	uint64_t uncertainty = atomic_load_explicit(&r->clock->uncertainty, memory_order_relaxed);

	mprof_recorder_counter_text(&r->ring, (int64_t)r->ran, &running);
	mprof_recorder_counter_text(&r->ring, (int64_t)r->waited, &waiting);
	if (uncertainty != r->uncertainty)
		mprof_recorder_counter_text(&r->ring, (int64_t)uncertainty, &unsure);
	if (r->refused != r->refused_written)
		mprof_recorder_counter_text(&r->ring, (int64_t)r->refused, &odd);
	r->uncertainty = uncertainty;
	r->refused_written = r->refused;
}

static void part_write(struct recording *r, const struct closed *closed)
{
	static const struct mprof_text names[VCPU_STATES] = {
		[VCPU_RUNNING] = MPROF_TEXT("running"),		[VCPU_WAITING] = MPROF_TEXT("waiting"),
		[VCPU_BLOCKED] = MPROF_TEXT("blocked"),		[VCPU_PAUSED] = MPROF_TEXT("paused"),
		[VCPU_NOT_RUNNING] = MPROF_TEXT("not running"),
	};
	const struct vcpu_part *part = &closed->part;

	if (part->state == VCPU_WAITING)
		r->waited += part->until - part->from;
	if (part->state == VCPU_OFFLINE)
		return;
	time_set(r, part->until);
	mprof_recorder_duration_text(&r->ring, (int64_t)MPROF_THREAD_VCPU - closed->vcpu, part->until - part->from,
				     &names[part->state]);
	labels_write(r);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void part_close(struct vcpu_recorder *recorder, struct recording *r, uint32_t i, uint64_t until)
{
	struct vcpu *vcpu = &r->vcpus[i];
	struct closed *closed = recorder->closed;
	const struct closed one = {i, {vcpu->state, vcpu->from, until}};
	size_t at = recorder->n_closed;

	vcpu->from = until;
	if (one.part.until <= one.part.from || at == CLOSED_MAX)
		return;
	for (; at > 0 && closed[at - 1].part.until > until; at--)
		closed[at] = closed[at - 1];
	closed[at] = one;
	recorder->n_closed++;
}

/* Take in SAMPLE of vCPU I, and close the parts that ended. */
static void sample_take(struct vcpu_recorder *recorder, struct recording *r, uint32_t i,
			const struct vcpu_sample *sample, bool flush)
{
	struct vcpu *vcpu = &r->vcpus[i];
	struct vcpu_part parts[VCPU_PARTS];
	size_t n = vcpu_parts(&vcpu->sample, sample, parts);

	r->refused += sample->cpu_time < vcpu->sample.cpu_time;
	r->ran += vcpu_ran(&vcpu->sample, sample);
	for (size_t k = 0; k < n; k++) {
		if (parts[k].state == vcpu->state)
			continue;
		part_close(recorder, r, i, parts[k].from);
		vcpu->state = parts[k].state;
	}
	vcpu->sample = *sample;
	if (flush || sample->at - vcpu->from >= FLUSH_NS)
		part_close(recorder, r, i, sample->at);
}

/* Write the closed parts, and the counters once a second or if FLUSH. */
static void closed_write(struct vcpu_recorder *recorder, struct recording *r, uint64_t now, bool flush)
{
	for (size_t i = 0; i < recorder->n_closed; i++)
		part_write(r, &recorder->closed[i]);
	recorder->n_closed = 0;
	if (!flush && now - r->flushed < FLUSH_NS)
		return;
	time_set(r, now);
	counters_write(r);
	r->flushed = now;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Sample vCPU I. PAUSED: its domain is. Return 0 or -errno. */
static int sample_make(struct vcpu_recorder *recorder, const struct recording *r, uint32_t i, bool paused,
		       struct vcpu_sample *sample)
{
	struct vcpu_info info;
	int e = xenctrl_vcpu(recorder->xenctrl, r->domid, i, &info);

	if (e)
		return e;
	*sample = (struct vcpu_sample){.at = clock_mono(), .cpu_time = info.cpu_time, .state = VCPU_WAITING};
	if (!info.online)
		sample->state = VCPU_OFFLINE;
	else if (info.running)
		sample->state = VCPU_RUNNING;
	else if (paused)
		sample->state = VCPU_PAUSED;
	else if (info.blocked)
		sample->state = VCPU_BLOCKED;
	return 0;
}

/* Sample all vCPUs of a guest and record what they did. FLUSH: write also what goes on. */
static void round_make(struct vcpu_recorder *recorder, struct recording *r, bool flush)
{
	struct vcpu_sample sample;
	struct domain_state state;
	bool paused, answered = !r->gone && xenctrl_state(recorder->xenctrl, r->domid, &state) == 0;

	if (answered && !(state.flags & DOMAIN_KNOWN))
		r->gone = true;
	flush = flush || r->gone;
	paused = answered && state.flags & (DOMAIN_PAUSED | DOMAIN_SHUTDOWN | DOMAIN_DYING);
	for (uint32_t i = 0; i < r->n; i++) {
		bool sampled = answered && !r->gone && sample_make(recorder, r, i, paused, &sample) == 0;

		if (sampled)
			sample_take(recorder, r, i, &sample, flush);
		else if (flush)
			part_close(recorder, r, i, r->vcpus[i].sample.at);
		r->refused += !sampled && !r->gone;
	}
	closed_write(recorder, r, clock_mono(), flush);
}

static bool vcpu_exists(struct vcpu_recorder *recorder, uint32_t domid, uint32_t i)
{
	struct vcpu_info info;

	return xenctrl_vcpu(recorder->xenctrl, domid, i, &info) == 0;
}

/* Return the number of vCPUs of DOMID, whose numbers are consecutive, in few calls. */
static uint32_t vcpus_count(struct vcpu_recorder *recorder, uint32_t domid)
{
	uint32_t below = 0, above = 1;

	while (above < ALL_MAX && vcpu_exists(recorder, domid, above - 1)) {
		below = above;
		above *= 2;
	}
	if (above > ALL_MAX)
		above = ALL_MAX;
	/* There are at least BELOW, and fewer than ABOVE. */
	while (above - below > 1) {
		uint32_t middle = below + (above - below) / 2;

		if (vcpu_exists(recorder, domid, middle - 1))
			below = middle;
		else
			above = middle;
	}
	return below;
}

/* ---- the recorder ---------------------------------------------------------------------------- */

struct vcpu_recorder *vcpu_recorder_new(struct xenctrl *xenctrl, struct vcpu_area *area, uint64_t interval)
{
	struct vcpu_recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return NULL;
	recorder->xenctrl = xenctrl;
	recorder->area = area;
	recorder->interval = interval;
	return recorder;
}

/* Write the first events: labels and counters, from which viewers begin. */
static void recording_begin(struct recording *r)
{
	static const struct mprof_text more = MPROF_COUNTER_TEXT("vcpu not sampled", MPROF_COUNTER_GAUGE);
	uint64_t now = clock_mono();

	time_set(r, now);
	r->uncertainty = UINT64_MAX; /* so that it is written */
	counters_write(r);
	if (r->all > r->n)
		mprof_recorder_counter_text(&r->ring, (int64_t)(r->all - r->n), &more);
	labels_write(r);
	r->flushed = now;
}

int vcpu_recorder_begin(struct vcpu_recorder *recorder, uint32_t slot, uint32_t domid, uint32_t *vcpus)
{
	struct recording *r = &recorder->recordings[slot];
	struct domain_state state;

	*vcpus = 0;
	if (r->on)
		return -EBUSY;
	if (xenctrl_state(recorder->xenctrl, domid, &state) || !(state.flags & DOMAIN_KNOWN))
		return -ESRCH;
	if (!xenctrl_has_vcpus(recorder->xenctrl))
		return -ENOSYS;
	*r = (struct recording){.domid = domid, .clock = &recorder->area->clocks[slot]};
	r->all = *vcpus = vcpus_count(recorder, domid);
	r->n = r->all < VCPU_MAX ? r->all : VCPU_MAX;
	for (uint32_t i = 0; i < r->n; i++) {
		if (sample_make(recorder, r, i, state.flags & DOMAIN_PAUSED, &r->vcpus[i].sample))
			return -ESRCH;
		r->vcpus[i].state = r->vcpus[i].sample.state;
		r->vcpus[i].from = r->vcpus[i].sample.at;
	}
	if (!r->n || mprof_recorder_init(&r->ring, recorder->area->rings[slot], VCPU_RING_BYTES, VCPU_RING_PACKETS,
					 NULL, NULL) != MPROF_RECORDER_OK)
		return -ESRCH;
	recording_begin(r);
	r->on = true;
	if (!recorder->due)
		recorder->due = clock_mono() + recorder->interval;
	return 0;
}

int vcpu_recorder_end(struct vcpu_recorder *recorder, uint32_t slot)
{
	struct recording *r = &recorder->recordings[slot];
	bool others = false;

	if (!r->on)
		return -ENOENT;
	round_make(recorder, r, true);
	mprof_recorder_stop(&r->ring);
	r->on = false;
	for (size_t i = 0; i < VCPU_SLOTS; i++)
		others = others || recorder->recordings[i].on;
	if (!others)
		recorder->due = 0;
	return 0;
}

uint64_t vcpu_recorder_due(const struct vcpu_recorder *recorder)
{
	return recorder->due;
}

/*
 * Return how long to rest after a round that took SPENT ns of processor time. The mean decides, as on a
 * host without free processors a round may seem to take much longer than it does.
 */
static uint64_t rest_of(struct vcpu_recorder *recorder, uint64_t spent)
{
	uint64_t most = 2 * recorder->cost + NS_PER_MS;

	spent = spent < most ? spent : most;
	recorder->cost += spent / MEAN - recorder->cost / MEAN;
	return REST * recorder->cost;
}

void vcpu_recorder_run(struct vcpu_recorder *recorder)
{
	uint64_t spent = clock_thread(), ended, rest;

	for (size_t i = 0; i < VCPU_SLOTS; i++) {
		struct recording *r = &recorder->recordings[i];

		if (r->on && !r->gone)
			round_make(recorder, r, false);
	}
	rest = rest_of(recorder, clock_thread() - spent);
	ended = clock_mono();
	recorder->due += recorder->interval;
	if (recorder->due < ended + rest)
		recorder->due = ended + rest;
	if (recorder->due <= ended)
		recorder->due = ended + recorder->interval;
}
