/*
 * recite: record the calls on standard input into a ring file: recite FILE BYTES PACKETS
 *
 * Each line is a call: TIME KIND A B TEXT. Numbers are decimal, and TEXT is hexadecimal, or `-` if
 * it is empty. KIND is the number of an event, or 14 for suspend. At a line `.` the program waits,
 * so that a reader of the ring can poll. At the end it prints the number of recorded events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#define LINE_BYTES 262144
#define SUSPEND	   14
#define PAUSE_US   30000

struct call {
	uint64_t time;
	unsigned int kind;
	int64_t a, b;
	char text[LINE_BYTES];
	size_t len;
};

static char line[LINE_BYTES];

static void die(const char *what)
{
	fprintf(stderr, "recite: %s\n", what);
	exit(1);
}

static void take_text(struct call *c, const char *hex)
{
	unsigned int byte;

	for (c->len = 0; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		c->text[c->len++] = (char)byte;
}

/* Record an event that has two threads. */
static void call_two(struct mprof_recorder *r, const struct call *c)
{
	switch (c->kind) {
	case MPROF_EVENT_read:
		mprof_recorder_read(r, c->a, c->b);
		break;
	case MPROF_EVENT_try_read:
		mprof_recorder_try_read(r, c->a, c->b);
		break;
	case MPROF_EVENT_read_later:
		mprof_recorder_read_later(r, c->a, c->b);
		break;
	case MPROF_EVENT_signal:
		mprof_recorder_signal(r, c->a, c->b);
		break;
	case MPROF_EVENT_signal_noswitch:
		mprof_recorder_signal_noswitch(r, c->a, c->b);
		break;
	case MPROF_EVENT_becomes:
		mprof_recorder_becomes(r, c->a, c->b);
		break;
	default:
		die("no such call");
	}
}

static void call_one(struct mprof_recorder *r, const struct call *c)
{
	mprof_recorder_at(r, c->time);
	switch (c->kind) {
	case MPROF_EVENT_creates:
		mprof_recorder_creates(r, c->a, (enum mprof_thread_type)c->b);
		break;
	case MPROF_EVENT_fulfills:
		mprof_recorder_fulfills(r, c->a);
		break;
	case MPROF_EVENT_fails:
		mprof_recorder_fails(r, c->a, c->text, c->len);
		break;
	case MPROF_EVENT_label:
		mprof_recorder_label(r, c->a, c->text, c->len);
		break;
	case MPROF_EVENT_increase:
		mprof_recorder_increase(r, c->a, c->text, c->len);
		break;
	case MPROF_EVENT_counter:
		mprof_recorder_counter(r, c->a, c->text, c->len);
		break;
	case MPROF_EVENT_switch:
		mprof_recorder_switch(r, c->a);
		break;
	case MPROF_EVENT_gc:
		mprof_recorder_gc(r, (uint64_t)c->a);
		break;
	case SUSPEND:
		mprof_recorder_suspend(r);
		break;
	default:
		call_two(r, c);
	}
}

static void recite(struct mprof_recorder *r)
{
	static struct call c;
	int at;

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, ".\n") == 0) {
			usleep(PAUSE_US);
			continue;
		}
		if (sscanf(line, "%" SCNu64 " %u %" SCNd64 " %" SCNd64 " %n", &c.time, &c.kind, &c.a, &c.b, &at) != 4)
			die(line);
		take_text(&c, line + at);
		call_one(r, &c);
	}
}

int main(int argc, char **argv)
{
	static struct mprof_recorder recorder;
	struct mprof_recorder_file file;
	uint64_t events;

	if (argc != 4)
		die("usage: recite FILE BYTES PACKETS");
	if (mprof_recorder_file_open(&file, argv[1], strtoul(argv[2], NULL, 10)) < 0)
		die(argv[1]);
	if (mprof_recorder_init(&recorder, file.memory, file.size, (unsigned)strtoul(argv[3], NULL, 10), NULL, NULL) !=
	    MPROF_RECORDER_OK)
		die("the ring cannot be made");
	recite(&recorder);
	events = recorder.events;
	if (mprof_recorder_dropped(&recorder))
		die("events were dropped");
	mprof_recorder_stop(&recorder);
	mprof_recorder_file_close(&file);
	printf("%" PRIu64 "\n", events);
	return 0;
}
