/*
 * mprof-demo-guest: a guest to trace on a machine without Xen.
 *
 * It records the events of a simulated unikernel into a ring in a mapped file, as a traced Unix
 * program does, until a signal ends it. It sleeps between wake-ups: events come in bursts, at the
 * requested rate on average.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mprof/recorder-file.h>

#include "demo-guest.h"

#define NS_PER_S 1000000000ull

struct options {
	const char *ring;
	uint64_t size, packets, rate, seconds, seed, count;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t monotonic(void *context)
{
	struct timespec ts;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void usage(FILE *f)
{
	fputs("Usage: mprof-demo-guest [OPTION]...\n"
	      "Record a simulated unikernel's trace into a ring mapped to a file, until SIGTERM.\n\n"
	      "  --ring FILE     the ring's file, replaced if it is there (demo.ctf)\n"
	      "  --size BYTES    of the ring, 1024 to 268435456 (1048576)\n"
	      "  --packets N     packets the ring is cut into, 2 to 1024 (4)\n"
	      "  --rate N        events per second on average, 0 = as fast as can be (2000)\n"
	      "  --seconds N     end after that long, 0 = never (0)\n"
	      "  --seed N        decides everything but the times (1)\n"
	      "  --count EVENTS  end after exactly that many events, 0 = never (0)\n",
	      f);
}

/*
 * Parse TEXT, the value of OPTION, as a decimal number into *VALUE. Return false after an error
 * message if TEXT is anything else.
 */
static bool number(const char *option, const char *text, uint64_t *value)
{
	char *rest;

	errno = 0;
	*value = strtoull(text, &rest, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*rest)
		return true;
	fprintf(stderr, "mprof-demo-guest: --%s %s: not a number; write digits only.\n", option, text);
	return false;
}

/* Parse the command line into *O. Return -1 to continue, or the program's exit code. */
static int options_parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"size", required_argument, NULL, 0},
		{"packets", required_argument, NULL, 1},
		{"rate", required_argument, NULL, 2},
		{"seconds", required_argument, NULL, 3},
		{"seed", required_argument, NULL, 4},
		{"count", required_argument, NULL, 5},
		{"ring", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	uint64_t *const numbers[] = {&o->size, &o->packets, &o->rate, &o->seconds, &o->seed, &o->count};
	int c, index;

	while ((c = getopt_long(argc, argv, "h", longs, &index)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return 0;
		}
		if (c == 'r')
			o->ring = optarg;
		else if (c < 0 || c > 5 || !number(longs[c].name, optarg, numbers[c]))
			return 2;
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "mprof-demo-guest: %s: not an option; see --help.\n", argv[optind]);
	return 2;
}

/* Sleep until the events recorded so far are due at the requested rate. */
static void pace(const struct options *o, const struct mprof_recorder *r, uint64_t began)
{
	struct timespec until;
	uint64_t due;

	if (!o->rate)
		return;
	due = began + (uint64_t)((double)r->events / (double)o->rate * (double)NS_PER_S);
	until.tv_sec = (time_t)(due / NS_PER_S);
	until.tv_nsec = (long)(due % NS_PER_S);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void run(const struct options *o, struct mprof_recorder *r)
{
	uint64_t began = monotonic(NULL);
	struct guest guest;

	guest_init(&guest, r, o->seed, o->count);
	guest_boot(&guest);
	do {
		pace(o, r, began);
		if (ended || (o->seconds && monotonic(NULL) - began >= o->seconds * NS_PER_S))
			break;
	} while (guest_step(&guest));
	mprof_recorder_stop(r);
	fprintf(stderr, "mprof-demo-guest: ended: events=%llu dropped=%llu packets=%llu\n",
		(unsigned long long)r->events, (unsigned long long)mprof_recorder_dropped(r),
		(unsigned long long)r->sequence + 1);
}

static int record(const struct options *o)
{
	struct mprof_recorder recorder;
	struct mprof_recorder_file file;
	enum mprof_recorder_status status;
	int r;

	if (o->size < MPROF_RING_BYTES_MIN || o->size > MPROF_RING_BYTES_MAX) {
		fprintf(stderr, "mprof-demo-guest: --size: %s.\n", mprof_recorder_status_text(MPROF_RECORDER_E_SIZE));
		return 2;
	}
	r = mprof_recorder_file_open(&file, o->ring, o->size);
	if (r < 0) {
		fprintf(stderr, "mprof-demo-guest: %s: cannot make a ring there: %s.\n", o->ring, strerror(-r));
		return 1;
	}
	status = mprof_recorder_init(&recorder, file.memory, file.size,
				     o->packets > MPROF_RING_PACKETS_MAX ? 1 : (unsigned)o->packets, monotonic, NULL);
	if (status == MPROF_RECORDER_OK)
		run(o, &recorder);
	else
		fprintf(stderr, "mprof-demo-guest: %s.\n", mprof_recorder_status_text(status));
	mprof_recorder_file_close(&file);
	return status == MPROF_RECORDER_OK ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct options o = {.ring = "demo.ctf", .size = 1 << 20, .packets = 4, .rate = 2000, .seed = 1};
	struct sigaction action = {.sa_handler = end};
	int code = options_parse(&o, argc, argv);

	if (code >= 0)
		return code;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	return record(&o);
}
