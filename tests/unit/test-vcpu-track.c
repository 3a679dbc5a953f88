/*
 * The tracks of some guests and their slots. The test replaces the helper, whose recorder it runs in this
 * process, and Xen: each guest has one vCPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>

#include "catch.h"
#include "check.h"
#include "collector.h"
#include "domain-steps.h"
#include "vcpu-recorder.h"
#include "xenctrl.h"

#define MIB	 (1u << 20)
#define INTERVAL NS_PER_MS
#define GUESTS	 3u
#define PACKET	 (VCPU_RING_BYTES / VCPU_RING_PACKETS)

static struct vcpu_area *area;
static struct vcpu_recorder *recorder;
static struct helper_answer answer; /* to the newest question */
static unsigned questions, closed;
static uint8_t ended[VCPU_RING_BYTES]; /* the ring that the recorder ended last, as it was then */

/* ---- Xen ---- */

int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state)
{
	(void)xenctrl;
	*state = (struct domain_state){.domid = domid, .flags = DOMAIN_KNOWN};
	return 0;
}

bool xenctrl_has_vcpus(const struct xenctrl *xenctrl)
{
	(void)xenctrl;
	return true;
}

int xenctrl_vcpu(struct xenctrl *xenctrl, uint32_t domid, uint32_t vcpu, struct vcpu_info *info)
{
	(void)xenctrl;
	if (vcpu)
		return -ESRCH;
	*info = (struct vcpu_info){.online = true, .running = domid == 1, .blocked = domid != 1};
	info->cpu_time = info->running ? clock_mono() : 0;
	return 0;
}

/* ---- the helper ---- */

int helper_ask_vcpu(struct helper *helper, uint32_t slot, uint32_t domid)
{
	uint32_t vcpus = 0;

	(void)helper;
	questions++;
	answer.is_vcpu = true;
	answer.tag = slot;
	if (domid) {
		answer.error = vcpu_recorder_begin(recorder, slot, domid, &vcpus);
	} else {
		answer.error = vcpu_recorder_end(recorder, slot);
		memcpy(ended, area->rings[slot], sizeof(ended));
	}
	answer.n = vcpus;
	return 0;
}

void host_asked(struct host *host, uint64_t now)
{
	(void)host;
	(void)now;
}

void domain_closed(struct domain *domain, uint64_t now)
{
	(void)now;
	closed++;
	vcpu_track_detach(&domain->vcpu);
}

/* ---- guests ---- */

struct world {
	struct config config;
	struct collector collector;
	struct host host;
	struct domain domains[GUESTS];
	struct attachment rings[GUESTS];
};

/* Make guest I, whose clock is known from a ring that is attached. */
static bool domain_init(struct world *w, unsigned i)
{
	static const char *const names[GUESTS] = {"first", "second", "third"};
	const struct guest_identity identity = {.source = "xen", .name = names[i], .key = names[i], .domid = 1 + i};
	struct domain *domain = &w->domains[i];

	domain->host = &w->host;
	domain->domid = 1 + i;
	domain->phase = PHASE_ON;
	domain->attachments = &w->rings[i];
	w->rings[i].attached = true;
	w->rings[i].clock.now = (struct clock_bound){.known = true};
	if (!CHECK_EQ_INT(guest_init(&domain->guest, &w->collector.shared, &identity, 0, NS_PER_S), 0))
		return false;
	domain->name = domain->guest.name;
	domain->guest.policy.vcpu = true;
	vcpu_track_init(&domain->vcpu, domain);
	return true;
}

static bool world_init(struct world *w)
{
	char error[256];
	bool good = true;

	*w = (struct world){0};
	area = vcpu_area_new();
	recorder = area ? vcpu_recorder_new(NULL, area, INTERVAL) : NULL;
	if (!CHECK(recorder != NULL) || !CHECK_EQ_INT(config_load(&w->config, "/dev/null", error, sizeof(error)), 0))
		return false;
	questions = closed = 0;
	w->collector.config = &w->config;
	w->collector.shared = (struct guest_shared){
		.config = &w->config,
		.queue = queue_new(MIB, MIB, MIB),
		.budget = {.share = 1, .burst_rate = MIB},
		.archiving = true,
	};
	w->host.collector = &w->collector;
	w->host.helper = (struct helper *)w; /* nothing of it is used */
	w->host.vcpus.area = area;
	for (unsigned i = 0; i < GUESTS; i++)
		good = good && domain_init(w, i);
	return good;
}

static void world_deinit(struct world *w)
{
	for (unsigned i = 0; i < GUESTS; i++) {
		vcpu_track_detach(&w->domains[i].vcpu);
		guest_deinit(&w->domains[i].guest);
	}
	schedule_deinit(&w->collector.schedule);
	queue_free(w->collector.shared.queue);
	config_deinit(&w->config);
	free(recorder);
	area = vcpu_area_free(area);
}

/* Let the helper answer. */
static void answer_give(struct world *w)
{
	vcpu_slots_answer(&w->host, &answer, clock_mono());
}

static void begin(struct world *w, unsigned i)
{
	struct vcpu_track *track = &w->domains[i].vcpu;

	vcpu_track_step(track, clock_mono());
	CHECK_EQ_INT(track->phase, VCPU_PHASE_ASKED);
	answer_give(w);
	CHECK_EQ_INT(track->phase, VCPU_PHASE_ON);
	CHECK_EQ_INT(guest_set_state(&w->domains[i].guest, "running", NULL), 0);
}

static void poll_track(struct world *w, unsigned i)
{
	struct task *task = &w->domains[i].vcpu.task;

	task->run(task, clock_mono());
}

static void sample(unsigned n)
{
	while (n--)
		vcpu_recorder_run(recorder);
}

/* Return how far the packet that STREAM read last was read; all bytes must be those of the ring ENDED. */
static uint32_t bytes_read(struct world *w, int64_t stream)
{
	struct queue *queue = w->collector.shared.queue;
	struct item *item, *next;
	uint32_t end = 0;

	queue_close(queue);
	while ((item = queue_take(queue, MIB, 0, 0)))
		for (; item; item = next) {
			const struct ring_chunk *chunk = &item->piece.chunk;

			next = item->next;
			if ((item->kind == ITEM_CHUNK || item->kind == ITEM_TAIL) && item->stream == stream) {
				CHECK_EQ_UINT(chunk->sequence, 0);
				CHECK(memcmp(item->data, ended + chunk->offset, chunk->length) == 0);
				end = chunk->offset + chunk->length;
			}
			queue_item_free(queue, item);
		}
	return end;
}

/* ---- tests ---- */

/* A guest ends while another one begins: the capture of the first one has its own last events. */
static void test_slot_is_read(void)
{
	static struct world w;
	struct vcpu_track *track = &w.domains[0].vcpu;
	struct mprof_packet_header header;
	int64_t stream;

	if (!world_init(&w))
		return;
	begin(&w, 0);
	stream = track->stream.id;
	sample(20);
	poll_track(&w, 0);
	sample(20);
	w.domains[0].phase = PHASE_ENDING;
	CHECK(guest_capture_begin(&w.domains[0].guest, "crash", NULL, true, NULL) > 0);
	vcpu_track_end(track, clock_mono());
	poll_track(&w, 0);
	CHECK_EQ_INT(track->phase, VCPU_PHASE_ENDING);
	answer_give(&w);
	CHECK_EQ_INT(track->phase, VCPU_PHASE_ENDED);
	begin(&w, 1);
	sample(20);
	poll_track(&w, 0);
	CHECK_EQ_UINT(closed, 1);
	CHECK_EQ_INT(track->phase, VCPU_PHASE_OFF);
	/* The slot is free when it was read. */
	begin(&w, 2);
	CHECK(w.domains[1].vcpu.slot == 1 && w.domains[2].vcpu.slot == 0);
	CHECK_EQ_INT(mprof_packet_load(&header, ended, PACKET), MPROF_PACKET_OK);
	CHECK_EQ_UINT(bytes_read(&w, stream), header.content_bytes);
	world_deinit(&w);
}

/* The helper answers after the run has ended without waiting for it, and the stream was detached or not. */
static void test_late_answer(void)
{
	static struct world w;
	struct vcpu_track *track = &w.domains[0].vcpu;

	for (unsigned detached = 0; detached < 2; detached++) {
		if (!world_init(&w))
			return;
		begin(&w, 0);
		vcpu_track_end(track, clock_mono());
		poll_track(&w, 0);
		track->end_by = 0;
		poll_track(&w, 0);
		CHECK_EQ_INT(track->phase, VCPU_PHASE_ENDED);
		if (detached)
			vcpu_track_detach(track);
		CHECK_EQ_INT(w.host.vcpus.slots[0].state, VCPU_SLOT_ENDS);
		answer_give(&w);
		CHECK_EQ_INT(w.host.vcpus.slots[0].state, detached ? VCPU_SLOT_FREE : VCPU_SLOT_READ);
		vcpu_track_detach(track);
		CHECK_EQ_INT(w.host.vcpus.slots[0].state, VCPU_SLOT_FREE);
		world_deinit(&w);
	}
}

/* A ring whose clock went back earlier goes away: the track goes on. At the next step back it ends. */
static void test_steps(void)
{
	static struct world w;
	struct domain *domain = &w.domains[0];

	if (!world_init(&w))
		return;
	w.rings[0].next = &w.rings[1];
	w.rings[1].clock.steps = domain->clock_steps = 1;
	begin(&w, 0);
	w.rings[0].next = NULL;
	vcpu_track_step(&domain->vcpu, clock_mono());
	CHECK_EQ_INT(domain->vcpu.phase, VCPU_PHASE_ON);
	domain->clock_steps++;
	vcpu_track_step(&domain->vcpu, clock_mono());
	CHECK_EQ_INT(domain->vcpu.phase, VCPU_PHASE_ENDING);
	world_deinit(&w);
}

/* Nobody is asked about a guest whose policy does not want it, or whose vCPUs cannot be recorded. */
static void test_not_wanted(void)
{
	static struct world w;
	struct domain *domain = &w.domains[0];

	if (!world_init(&w))
		return;
	domain->guest.policy.vcpu = false;
	vcpu_track_step(&domain->vcpu, clock_mono());
	domain->guest.policy.vcpu = domain->vcpu.refused = true;
	vcpu_track_step(&domain->vcpu, clock_mono());
	domain->vcpu.refused = false;
	domain->vcpu.streams = VCPU_NUMBERS;
	vcpu_track_step(&domain->vcpu, clock_mono());
	CHECK_EQ_UINT(questions, 0);
	vcpu_track_renew(&domain->vcpu);
	begin(&w, 0);
	domain->guest.policy.vcpu = false;
	vcpu_track_step(&domain->vcpu, clock_mono());
	CHECK_EQ_INT(domain->vcpu.phase, VCPU_PHASE_ENDING);
	world_deinit(&w);
}

/* Let the helper be silent at NOW, and answer again. */
static void silence(struct world *w, uint64_t now)
{
	w->host.silent = true;
	vcpu_slots_lost(&w->host, now);
	vcpu_track_detach(&w->domains[0].vcpu);
	w->host.silent = false;
	vcpu_slots_pulse(&w->host);
	answer_give(w);
	CHECK_EQ_INT(w->host.vcpus.slots[0].state, VCPU_SLOT_FREE);
}

/* A helper is silent each time that it is asked. A run does not use up its streams in an hour, and says when it has. */
static void test_silences(void)
{
	static struct world w;
	static struct catch c;
	struct vcpu_track *track = &w.domains[0].vcpu;
	uint64_t began, now;

	if (!world_init(&w))
		return;
	began = now = clock_mono();
	for (unsigned i = 0; i < VCPU_NUMBERS; i++) {
		vcpu_track_step(track, now);
		if (!CHECK_EQ_INT(track->phase, VCPU_PHASE_ASKED))
			break;
		answer_give(&w);
		CHECK_EQ_INT(track->phase, VCPU_PHASE_ON);
		silence(&w, now);
		vcpu_track_step(track, now + 9 * NS_PER_S);
		if (!CHECK_EQ_INT(track->phase, VCPU_PHASE_OFF))
			break;
		while (now < track->begin_from)
			now += NS_PER_S;
		CHECK(track->streams == i + 1 && (now < began + 3600 * NS_PER_S || i > 7));
	}
	CHECK(now > began + 48 * 3600 * NS_PER_S && now < began + 72 * 3600 * NS_PER_S);
	catch_begin(&c);
	vcpu_track_step(track, now);
	vcpu_track_step(track, now + NS_PER_S);
	CHECK_EQ_INT(track->phase, VCPU_PHASE_OFF);
	CHECK_EQ_STR(
		catch_end(&c),
		"mprof: warning: first: vCPUs are recorded no longer: this run has had all of its 64 streams vcpu\n");
	/* The next run begins at once. */
	vcpu_track_renew(track);
	begin(&w, 0);
	world_deinit(&w);
}

int main(void)
{
	CHECK_RUN(test_slot_is_read);
	CHECK_RUN(test_late_answer);
	CHECK_RUN(test_steps);
	CHECK_RUN(test_not_wanted);
	CHECK_RUN(test_silences);
	return check_done();
}
