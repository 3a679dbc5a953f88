/*
 * recorder-load: record the same event many times, and print how long one took.
 *
 *	recorder-load MODE EVENTS [FILE]
 *
 * The event is `try_read`, which has two 64-bit numbers: 1, and the event's own number, from 0 on.
 * MODE is how it is recorded: `clock` and `plain` with and without the recorder's clock; `tracer` into
 * the thread's ring; `stopped`: with a recorder that is off; `off`: compiled with MPROF_RECORDER_OFF;
 * `empty`: not at all. FILE gets the ring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <mprof/cycles.h>
#include <mprof/recorder.h>
#include <mprof/tracer.h>

#include "recorder-load.h"

#define RING_BYTES (8u << 20)

static struct mprof_recorder recorder;
static struct mprof_cycles cycles;
static uint8_t *memory;

LOOP(loop_plain, (mprof_recorder_at(&recorder, (uint64_t)i), mprof_recorder_try_read(&recorder, 1, i)))
LOOP(loop_clock, mprof_recorder_try_read(&recorder, 1, i))
LOOP(loop_stopped, mprof_recorder_try_read(&recorder, 1, i))
LOOP(loop_empty, (void)0)

static void tracer_record(int64_t i)
{
	struct mprof_recorder *r = mprof_tracer_begin();

	if (!r)
		return;
	mprof_recorder_try_read(r, 1, i);
	mprof_tracer_end(r);
}

LOOP(loop_tracer, tracer_record(i))

/* ---- a publisher of the tracer whose only ring is MEMORY ---- */

static int share(void *context, unsigned index, size_t bytes, void **ring)
{
	(void)context;
	(void)bytes;
	*ring = memory;
	return index == 0 ? 0 : -1;
}

static int say(void *context, unsigned index, const char *name)
{
	(void)context;
	(void)index;
	(void)name;
	return 0;
}

static void withdraw(void *context, unsigned index)
{
	(void)context;
	(void)index;
}

static const struct mprof_publisher publisher = {.share = share, .say = say, .withdraw = withdraw};

static void prepare(const char *mode)
{
	const struct mprof_tracer_options options = {.publisher = &publisher, .ring_bytes = RING_BYTES};
	bool clock = strcmp(mode, "clock") == 0, plain = strcmp(mode, "plain") == 0;

	memory = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		exit(1);
	if (clock)
		mprof_cycles_init(&cycles);
	if (clock || plain)
		mprof_recorder_init(&recorder, memory, RING_BYTES, 0, clock ? mprof_cycles_now : NULL, &cycles);
	if (strcmp(mode, "tracer") == 0)
		mprof_tracer_start(&options);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*loop)(int64_t first, int64_t end);
	} modes[] = {{"plain", loop_plain},	{"clock", loop_clock}, {"tracer", loop_tracer},
		     {"stopped", loop_stopped}, {"off", loop_off},     {"empty", loop_empty}};
	FILE *f;

	for (size_t i = 0; argc >= 3 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		prepare(argv[1]);
		measure(modes[i].loop, strtoll(argv[2], NULL, 10));
		f = argc > 3 ? fopen(argv[3], "we") : NULL;
		if (argc > 3 && (!f || fwrite(memory, RING_BYTES, 1, f) != 1 || fclose(f) != 0))
			return 1;
		return 0;
	}
	fprintf(stderr, "Usage: recorder-load plain|clock|tracer|stopped|off|empty EVENTS [FILE]\n");
	return 2;
}
