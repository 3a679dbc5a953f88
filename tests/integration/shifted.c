/*
 * shifted: record events as a program does whose clock differs from the host's: shifted FILE
 * SHIFT-NS EVENTS PAUSE-US
 *
 * Each event is a label with the present time of the host's monotonic clock. The event's timestamp
 * is SHIFT-NS greater than this time. SIGTERM ends the program before it has recorded all EVENTS.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#define RING_BYTES 8192u

struct shifted {
	struct mprof_recorder recorder;
	int64_t shift;
};

static uint64_t host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell(struct shifted *s)
{
	uint64_t now = host_now();
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64, now);

	mprof_recorder_at(&s->recorder, now + (uint64_t)s->shift);
	mprof_recorder_label(&s->recorder, 0, text, (size_t)n);
}

int main(int argc, char **argv)
{
	static struct shifted s;
	struct mprof_recorder_file file;
	struct timespec pause = {0};
	sigset_t ends;
	long i;
	int r;

	if (argc != 5) {
		fputs("usage: shifted FILE SHIFT-NS EVENTS PAUSE-US\n", stderr);
		return 2;
	}
	s.shift = strtoll(argv[2], NULL, 10);
	pause.tv_nsec = strtol(argv[4], NULL, 10) * 1000;
	r = mprof_recorder_file_open(&file, argv[1], RING_BYTES);
	if (r < 0) {
		fprintf(stderr, "shifted: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	mprof_recorder_at(&s.recorder, host_now() + (uint64_t)s.shift);
	if (mprof_recorder_init(&s.recorder, file.memory, file.size, 0, NULL, NULL) != MPROF_RECORDER_OK) {
		fputs("shifted: the ring cannot be made\n", stderr);
		return 1;
	}
	mprof_recorder_at(&s.recorder, host_now() + (uint64_t)s.shift);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (i = strtol(argv[3], NULL, 10); i > 0; i--) {
		tell(&s);
		if (sigtimedwait(&ends, NULL, &pause) == SIGTERM)
			break;
	}
	mprof_recorder_stop(&s.recorder);
	mprof_recorder_file_close(&file);
	return 0;
}
