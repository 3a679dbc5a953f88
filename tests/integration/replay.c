/*
 * replay: make the stores of a real mirage-profile writer (replayer.h) in one ring file, which
 * stays mapped, and pause at each image.
 */
#include "replayer.h"

#include "writer.h"

int main(int argc, char **argv)
{
	uint64_t hold_ms = 20, pause_us = 0, rate = 2000000, jump = 0, limit = REPLAYER_IMAGES_MAX;
	const char *reference = NULL, *truth = NULL, *ring = NULL, *spare = NULL;
	static const struct option options[] = {
		{"reference", required_argument, NULL, 0}, {"truth", required_argument, NULL, 0},
		{"ring", required_argument, NULL, 0},	   {"hold-ms", required_argument, NULL, 0},
		{"pause-us", required_argument, NULL, 0},  {"rate", required_argument, NULL, 0},
		{"jump", required_argument, NULL, 0},	   {"images", required_argument, NULL, 0},
		{"spare", required_argument, NULL, 0},	   {0}};
	uint64_t *const numbers[] = {NULL, NULL, NULL, &hold_ms, &pause_us, &rate, &jump, &limit, NULL};
	const char **const texts[] = {[0] = &reference, [1] = &truth, [2] = &ring, [8] = &spare};
	struct replayer r;
	char hidden[4096];

	writer_options(argc, argv, options, numbers, texts);
	if (!reference || !truth || !ring)
		writer_die("Usage: replay --reference DIR --truth FILE (its truth, not compressed) --ring FILE\n"
			   "       [--rate BYTES/S] [--pause-us BETWEEN EVENTS] [--hold-ms AT EACH IMAGE] [--jump 1] "
			   "[--images N]\n"
			   "       [--spare FILE: where the ring is made before it is moved to its place]");
	replayer_init(&r, reference, truth);
	r.pause_ns = pause_us * 1000;
	r.rate = rate;
	/*
	 * The first image is from the middle of a writer's life. Write the first state to another
	 * file, so that no reader sees the ring before that.
	 */
	snprintf(hidden, sizeof(hidden), "%s%s", spare ? spare : ring, spare ? "" : ".new");
	replayer_begin(&r, writer_map(hidden, O_CREAT | O_TRUNC, r.size));
	if (rename(hidden, ring) < 0)
		writer_die("%s: %s", ring, strerror(errno));
	for (uint32_t i = 0; i < r.n && i < limit; i++) {
		replayer_image(&r, i, jump != 0);
		writer_sleep(hold_ms * 1000000);
		r.began += hold_ms * 1000000;
	}
	printf("{\"images\": %u, \"shown\": %llu, \"events\": %llu, \"bytes\": %llu, \"torn\": %llu, \"skipped\": "
	       "%llu, "
	       "\"count\": %u, \"offset\": %u}\n",
	       r.n, (unsigned long long)r.shown, (unsigned long long)r.events, (unsigned long long)r.bytes,
	       (unsigned long long)r.torn_events, (unsigned long long)r.skipped, r.count, r.used);
	munmap(r.ring, r.size);
	replayer_deinit(&r);
	return 0;
}
