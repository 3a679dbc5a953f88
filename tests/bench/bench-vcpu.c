/*
 * Measure what it costs to record the vCPUs of guests: the processor time of the helper's part, with a
 * stand-in for libxenctrl that answers at once, so without Xen's own part of a call. Half of the vCPUs
 * are blocked, the other half run for a third of each interval, which makes the most events.
 *
 * The benchmark fails if a sample was left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "clock.h"
#include "helper.h"
#include "vcpu-recorder.h"
#include "xenctrl.h"

#define INTERVAL (10 * NS_PER_MS)

/* The stand-in: all domains exist and have VCPUS vCPUs. */
struct xenctrl {
	uint64_t calls;
	uint32_t vcpus;
};

int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state)
{
	xenctrl->calls++;
	*state = (struct domain_state){.domid = domid, .flags = DOMAIN_KNOWN};
	return 0;
}

bool xenctrl_has_vcpus(const struct xenctrl *xenctrl)
{
	return xenctrl != NULL;
}

int xenctrl_vcpu(struct xenctrl *xenctrl, uint32_t domid, uint32_t vcpu, struct vcpu_info *info)
{
	bool busy = vcpu % 2;

	(void)domid;
	xenctrl->calls++;
	if (vcpu >= xenctrl->vcpus)
		return -1;
	*info = (struct vcpu_info){.online = true, .blocked = true, .cpu_time = busy ? clock_mono() / 3 : 0};
	return 0;
}

static void print_line(const char *what, uint32_t guests, uint32_t vcpus, double ours, const char *unit)
{
	printf("{\"name\": \"vcpu-%s-%ux%u\", \"ours\": %.3f, \"unit\": \"%s\", \"peer\": null, \"ratio\": null, "
	       "\"aim\": null, \"met\": null}\n",
	       what, guests, vcpus, ours, unit);
}

/* Return the bytes that were written to the ring at MEMORY since its begin. */
static uint64_t written(const uint8_t *memory)
{
	const uint32_t size = VCPU_RING_BYTES / VCPU_RING_PACKETS;
	struct mprof_packet_header h;
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < VCPU_RING_PACKETS; k++)
		if (mprof_packet_load(&h, memory + k * size, MPROF_PACKET_HEADER_BYTES) == MPROF_PACKET_OK &&
		    h.content_bytes > MPROF_PACKET_HEADER_BYTES && (uint64_t)h.count * size + h.content_bytes > bytes)
			bytes = (uint64_t)h.count * size + h.content_bytes;
	return bytes;
}

/* Sample for SECONDS seconds. Return the number of rounds. */
static uint64_t rounds_make(struct vcpu_recorder *recorder, unsigned seconds)
{
	uint64_t began = clock_mono(), rounds = 0;

	for (; clock_mono() - began < seconds * NS_PER_S; rounds++) {
		uint64_t due = vcpu_recorder_due(recorder), now = clock_mono();

		if (due > now)
			usleep((useconds_t)((due - now) / NS_PER_US) + 1);
		vcpu_recorder_run(recorder);
	}
	return rounds;
}

/* Record GUESTS guests with VCPUS vCPUs for SECONDS seconds, and print what that takes. Return 0 or -1. */
static int measure(uint32_t guests, uint32_t vcpus, unsigned seconds)
{
	CLEANUP(vcpu_area_freep) struct vcpu_area *area = vcpu_area_new();
	struct xenctrl xenctrl = {.vcpus = vcpus};
	struct vcpu_recorder *recorder = area ? vcpu_recorder_new(&xenctrl, area, INTERVAL) : NULL;
	uint64_t began, cpu, rounds, calls;
	uint32_t found = 0;
	double took;

	for (uint32_t i = 0; recorder && i < guests; i++)
		if (vcpu_recorder_begin(recorder, i, i + 1, &found) || found != vcpus)
			return -1;
	if (!recorder)
		return -1;
	calls = xenctrl.calls;
	began = clock_mono();
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	rounds = rounds_make(recorder, seconds);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	took = (double)(clock_mono() - began);
	free(recorder);
	if (xenctrl.calls - calls != rounds * guests * (vcpus + 1)) {
		fprintf(stderr, "vcpu: a sample was left out\n");
		return -1;
	}
	print_line("cpu", guests, vcpus, (double)cpu / took * 100, "% of a core");
	print_line("sample", guests, vcpus, (double)cpu / (double)(rounds * guests * vcpus), "ns");
	print_line("interval", guests, vcpus, took / (double)rounds / 1e6, "ms");
	print_line("trace", guests, vcpus, (double)written(area->rings[0]) / took * 1e6, "KB/s a guest");
	return 0;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 && strcmp(argv[1], "--brief") == 0 ? 1 : 10;

	return measure(1, 1, seconds) || measure(16, 2, seconds) || measure(64, 4, seconds) || measure(64, 128, seconds)
		       ? 1
		       : 0;
}
