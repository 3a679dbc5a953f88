/* The sequence-checked copy against a writer that writes between any two of its loads. */
#include "check.h"
#include "ring-sim.h"

static struct sim sim;

static bool run_once(uint64_t seed, bool print)
{
	static const uint32_t sizes[] = {90, 128, 200, 333, 500};
	static const uint32_t paces[] = {0, 1, 4, 16, 64, 200, 600};
	uint32_t n = 2 + (uint32_t)(seed % 4), looks = 200;
	uint32_t size = sizes[seed / 4 % 5];
	uint64_t begin = seed / 20 % 8 == 0 ? 0 : seed / 20 % 8 < 7 ? 7 + seed % 11 : 65533;
	struct ring ring;
	const char *fault;
	int r;

	/* Sizes of which the high half changes: packets over 8 KiB. */
	if (seed % 6 == 5)
		size = seed % 12 == 5 ? 9000 : 17000;
	if (size > 8192 && begin > 100)
		begin = 3;
	if (size * n < MPROF_RING_BYTES_MIN)
		size = MPROF_RING_BYTES_MIN / n + 1 + (uint32_t)(seed % 7);
	if (size > SIM_PACKET_MAX - 3)
		size = SIM_PACKET_MAX - 3;
	if (size * n < MPROF_RING_BYTES_MIN)
		n = 3;
	sim_init(&sim, seed + 1, n, size, seed % 5 == 4, begin);
	for (int tries = 0; tries < 1000; tries++) {
		r = ring_attach(&ring, &sim.memory, sim.bytes, NULL, false, &fault);
		if (r != RING_E_NOT_YET)
			break;
	}
	if (r) {
		fprintf(stderr, "attach: %d %s\n", r, fault);
		return false;
	}
	for (uint32_t i = 0; i < looks && !sim.fault; i++) {
		sim.pace = paces[sim_random(&sim, 7)];
		sim.full = sim_random(&sim, 20) == 0;
		if (sim_random(&sim, 10) == 0)
			sim_write(&sim, (unsigned)sim_random(&sim, size > 8192 ? 60000 : 3000));
		r = ring_look(&ring, &sim.sink);
		if (r && r != RING_E_FULL)
			sim_fail(&sim, "a look fails");
		if (r == 0 && sim_random(&sim, 50) == 0) {
			struct ring_mark at = {0};

			ring_capture(&ring, &sim.sink, false, &at);
		}
	}
	sim_finish(&sim, &ring);
	if (print || sim.fault)
		fprintf(stderr,
			"seed %llu: n %u size %u: %s; taken %llu tail %llu lost %llu in %llu gaps, packets %llu\n",
			(unsigned long long)seed, n, size, sim.fault ? sim.fault : "ok", (unsigned long long)sim.taken,
			(unsigned long long)sim.tail, (unsigned long long)sim.lost, (unsigned long long)sim.gaps,
			(unsigned long long)sim.sequence);
	ring_detach(&ring);
	sim_deinit(&sim);
	return !sim.fault;
}

static void test_interleavings(void)
{
	const char *seeds = getenv("MPROF_RING_SEEDS");
	uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 200;
	unsigned bad = 0;

	for (uint64_t seed = 0; seed < n && bad < 10; seed++)
		bad += !run_once(seed, false);
	CHECK_EQ_UINT(bad, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return !run_once(strtoull(argv[1], NULL, 10), true);
	CHECK_RUN(test_interleavings);
	return check_done();
}
