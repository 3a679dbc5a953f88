/*
 * lab-guest: the program of the lab's guests. It publishes rings, writes events that can be
 * checked, and executes the commands that domain 0 writes to its key data/lab/cmd: "ID VERB
 * [NUMBER]". It answers each command in data/lab/done, with the id and the last serial number of
 * each stream.
 *
 *  write N      write N events
 *  rate N       write N events a second, in each stream
 *  say          only answer
 *  kicks MS     notify domain 0 for MS milliseconds, as fast as possible
 *  withdraw     withdraw the rings
 *  publish      initialise the rings anew and publish them: after withdraw in new pages, else in
 *               their old ones
 *  play         replay the reference traces, if the guest has them
 *  last         print the serial numbers of the last events, write these, and write no more: domain 0 ends the guest
 *  crash, poweroff, reboot, watchdog
 *
 * Before a guest dies by one of the last four commands, it prints the serial numbers of its last
 * events on the console, waits until the console has them, writes these events, and dies at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/watchdog.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "lab-stream.h"
#include "replayer.h"
#include "writer.h"

#define STREAMS_MAX 4u
#define TICK_MS	    20
#define BURST_NS    500000000u
#define LAST_EVENTS 20u

struct lab_guest {
	struct lab_xen xen;
	struct lab_stream streams[STREAMS_MAX];
	unsigned n;
	/* Events per second; start of this rate (ns); events written since the start. */
	uint64_t rate, began, due;
	const char *reference;
	struct replayer replayer;
};

static void say(const struct lab_guest *g, const char *what, uint64_t more)
{
	for (unsigned i = 0; i < g->n; i++)
		printf("lab: %s %u %u %" PRIu64 "\n", what, i, g->streams[i].life, g->streams[i].serial + more);
	fflush(stdout);
}

static void answer(const struct lab_guest *g, const char *id)
{
	char text[256];
	int at = snprintf(text, sizeof(text), "%s", id);

	for (unsigned i = 0; i < g->n; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " %" PRIu64, g->streams[i].serial);
	lab_put(&g->xen, "data/lab/done", text);
}

static void write_all(struct lab_guest *g, uint64_t n)
{
	for (unsigned i = 0; i < g->n; i++)
		lab_stream_write(&g->streams[i], n);
}

static void rate_set(struct lab_guest *g, uint64_t rate)
{
	g->rate = rate;
	g->began = writer_now();
	g->due = 0;
}

/*
 * Write the events that are due. A machine that stood still for a while would make many due at once, more than a ring holds before
 * domain 0 runs again: those of more than BURST_NS are left out.
 */
static void tick(struct lab_guest *g)
{
	uint64_t now = writer_now(), due = (now - g->began) * g->rate / NS_PER_S,
		 most = g->rate * BURST_NS / NS_PER_S + 1;

	if (due > g->due + most) {
		write_all(g, most);
		g->began = now;
		g->due = 0;
		return;
	}
	if (due > g->due)
		write_all(g, due - g->due);
	g->due = due;
}

static void publish(struct lab_guest *g)
{
	for (unsigned i = 0; i < g->n; i++) {
		struct lab_stream *s = &g->streams[i];

		if (!s->ring)
			lab_stream_share(s);
		if (g->reference)
			replayer_begin(&g->replayer, s->ring);
		else
			lab_stream_begin(s);
		lab_stream_publish(s);
	}
	say(g, "published", 0);
}

static void play(struct lab_guest *g)
{
	struct replayer *r = &g->replayer;

	if (!g->reference)
		lab_die("nothing to play");
	r->began = writer_now();
	r->rate = 300000;
	for (uint32_t i = 0; i < r->n; i++)
		replayer_image(r, i, true);
	printf("lab: played %" PRIu32 ":%" PRIu32 " events %" PRIu64 "\n", r->count, r->used, r->events);
	fflush(stdout);
}

static void kicks(struct lab_guest *g, uint64_t ms)
{
	uint64_t until = writer_now() + ms * 1000000, n = 0;

	for (; writer_now() < until; n++)
		xenevtchn_notify(g->xen.events, (evtchn_port_t)g->streams[0].port);
	printf("lab: kicked %" PRIu64 " times\n", n);
	fflush(stdout);
}

static void sysrq(char c)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, &c, 1) != 1)
		lab_die("sysrq");
}

/* Start Xen's watchdog and never reset it, so that Xen ends the guest. */
static int watchdog_arm(void)
{
	int fd = open("/dev/watchdog", O_WRONLY | O_CLOEXEC), seconds = 2;

	if (fd < 0 || ioctl(fd, WDIOC_SETTIMEOUT, &seconds) < 0)
		lab_die("watchdog");
	return fd;
}

/* Announce the last events and write them. */
static void last(struct lab_guest *g)
{
	say(g, "last", LAST_EVENTS);
	usleep(400000);
	write_all(g, LAST_EVENTS);
	rate_set(g, 0);
}

static void die(struct lab_guest *g, const char *how)
{
	last(g);
	if (!strcmp(how, "crash"))
		sysrq('c');
	else if (!strcmp(how, "poweroff"))
		reboot(RB_POWER_OFF);
	else if (!strcmp(how, "reboot"))
		reboot(RB_AUTOBOOT);
	else
		watchdog_arm();
	pause();
}

static void withdraw(struct lab_guest *g)
{
	say(g, "withdrawn", 0);
	for (unsigned i = 0; i < g->n; i++)
		lab_stream_withdraw(&g->streams[i]);
	rate_set(g, 0);
}

static void obey(struct lab_guest *g, const char *verb, uint64_t n)
{
	if (!strcmp(verb, "write"))
		write_all(g, n);
	else if (!strcmp(verb, "rate"))
		rate_set(g, n);
	else if (!strcmp(verb, "say"))
		say(g, "serial", 0);
	else if (!strcmp(verb, "kicks"))
		kicks(g, n);
	else if (!strcmp(verb, "play"))
		play(g);
	else if (!strcmp(verb, "withdraw"))
		withdraw(g);
	else if (!strcmp(verb, "last"))
		last(g);
	else if (!strcmp(verb, "publish"))
		publish(g);
	else
		die(g, verb);
}

static void command(struct lab_guest *g)
{
	char *text, id[16], verb[16];
	unsigned int n;
	uint64_t number = 0;

	free((void *)xs_read_watch(g->xen.store, &n));
	text = (char *)xs_read(g->xen.store, XBT_NULL, "data/lab/cmd", &n);
	if (text && sscanf(text, "%15s %15s %" SCNu64, id, verb, &number) >= 2) {
		obey(g, verb, number);
		answer(g, id);
	}
	free(text);
}

static void arguments(struct lab_guest *g, int argc, char **argv)
{
	uint32_t pages = 64, packets = 4;
	bool directory = false, kick = false;

	g->n = 1;
	for (int i = 1; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		value = value ? value + 1 : "";
		if (!strncmp(argv[i], "pages=", 6))
			pages = (uint32_t)writer_number(value);
		else if (!strncmp(argv[i], "packets=", 8))
			packets = (uint32_t)writer_number(value);
		else if (!strncmp(argv[i], "streams=", 8))
			g->n = (unsigned)writer_number(value);
		else if (!strncmp(argv[i], "rate=", 5))
			g->rate = writer_number(value);
		else if (!strncmp(argv[i], "play=", 5))
			g->reference = value;
		directory |= !strcmp(argv[i], "directory");
		kick |= !strcmp(argv[i], "kick");
	}
	if (!g->n || g->n > STREAMS_MAX)
		writer_die("1 to %u streams", STREAMS_MAX);
	for (unsigned i = 0; i < g->n; i++)
		g->streams[i] = (struct lab_stream){&g->xen,	   .number = i,	   .directory = directory,
						    .kicks = kick, .pages = pages, .packets = packets};
}

int main(int argc, char **argv)
{
	static struct lab_guest guest;
	struct lab_guest *g = &guest;
	struct pollfd fd = {.events = POLLIN};
	char truth[256];

	arguments(g, argc, argv);
	lab_xen_open(&g->xen);
	if (g->reference) {
		snprintf(truth, sizeof(truth), "%s/truth.ctf", g->reference);
		replayer_init(&g->replayer, g->reference, truth);
		g->streams[0].pages = (uint32_t)(g->replayer.size / LAB_PAGE);
	}
	publish(g);
	rate_set(g, g->rate);
	if (!xs_watch(g->xen.store, "data/lab/cmd", "cmd"))
		lab_die("watching data/lab/cmd");
	lab_put(&g->xen, "data/lab/done", "0");
	fd.fd = xs_fileno(g->xen.store);
	for (;;) {
		if (poll(&fd, 1, g->rate ? TICK_MS : -1) > 0)
			command(g);
		if (g->rate)
			tick(g);
	}
}
