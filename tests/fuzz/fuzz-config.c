/*
 * Fuzz the configuration with any bytes as the file. Either the file is loaded and each value is
 * within the limits that the header states, or the result is one sentence that names the file and a
 * line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"

static void check_config(const struct config *c)
{
	static const char *const names[] = {"", "web", "web-1", "*", "[", "\xff\xfe", "a/b"};

	require(c->queue_bytes >= 1 << 20 && c->flush_interval_ns >= 10000000 && c->flush_interval_ns <= 60000000000);
	require(c->cpu_budget > 0 && c->cpu_budget <= 1 && c->connections > 0 && c->burst_rate > 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct policy p = config_policy(c, names[i]);

		require(p.mode == POLICY_CONTINUOUS || p.mode == POLICY_PERIODIC || p.mode == POLICY_ON_CRASH);
		require(p.interval_ns > 0 && p.bytes <= INT64_MAX && p.age_ns <= INT64_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("config", MFD_CLOEXEC);
	char path[64], error[300] = "";
	struct config c;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* This path opens the file again, so it is read from its beginning. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (config_load(&c, path, error, sizeof(error)) == 0) {
		check_config(&c);
		config_deinit(&c);
	} else {
		require(strncmp(error, path, strlen(path)) == 0 && !strchr(error, '\n') &&
			strlen(error) > strlen(path) + 5);
	}
	close(fd);
	return 0;
}
