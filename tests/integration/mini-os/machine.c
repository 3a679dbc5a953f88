/*
 * The machine below the stand-in: stand-in RING WORD… boots the guest, whose command line has the words with "=". When the guest has
 * nothing to do, domain 0 does what the next one of the other words says:
 *
 *  VERB or VERB:N  write the command to data/lab/cmd
 *  bell            notify the event channel in data/lab/event-channel
 *  shutdown        let the guest end, as `xl shutdown` does
 *
 * After the last word the process ends, and RING has the ring as domain 0 finds it.
 */
#define _GNU_SOURCE
#include "stand-in.h"

#include <mini-os/events.h>
#include <mini-os/mm.h>
#include <mini-os/sched.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define EVENTS	256
#define PAGES	1024
#define CALL_NS 250 /* the time that passes between two looks at the clock */

static struct shared_info shared_info;
struct shared_info *HYPERVISOR_shared_info = &shared_info;
char cmdline[256];

static s_time_t clock_ns = 1000000000;
static evtchn_port_t events[EVENTS];
static unsigned n_raised, n_delivered, n_commands;
static char **words;
static const char *ring_path;
static const void *pages[PAGES]; /* of the ring, as domain 0 maps it */
static unsigned n_pages;
static bool saved;

uint64_t monotonic_clock(void)
{
	return (uint64_t)(clock_ns += CALL_NS);
}

void machine_raise(evtchn_port_t port)
{
	events[n_raised++ % EVENTS] = port;
}

void __arch_switch_threads(unsigned long *prevctx, unsigned long *nextctx)
{
	swapcontext((ucontext_t *)*prevctx, (ucontext_t *)*nextctx);
}

/* ---- domain 0 ---- */

static void shut_down(void *unused)
{
	if (app_shutdown)
		app_shutdown(0);
}

/* Do what WORD says. */
static void obey(const char *word)
{
	const char *number = strchr(word, ':');
	char text[64];

	if (!strcmp(word, "bell")) {
		machine_raise((evtchn_port_t)atoi(store_get("data/lab/event-channel")));
	} else if (!strcmp(word, "shutdown")) {
		create_thread("shutdown", shut_down, NULL);
	} else {
		snprintf(text, sizeof(text), "%u %.*s %s", ++n_commands, (int)strcspn(word, ":"), word,
			 number ? number + 1 : "0");
		store_change("data/lab/cmd", text);
	}
}

static void map(uint32_t ref)
{
	unsigned long frame;

	if (n_pages < PAGES && devices_frame(ref, &frame))
		pages[n_pages++] = (const void *)(frame * PAGE_SIZE);
}

void machine_map(const char *path, const char *value)
{
	const uint32_t *directory;
	char *end;

	if (!strcmp(path, "data/mprof/directory-ref")) {
		map((uint32_t)atoi(value));
		directory = n_pages ? pages[--n_pages] : NULL;
		for (unsigned i = 0; directory && i < PAGE_SIZE / 4 && directory[i]; i++)
			map(directory[i]);
	} else if (!strcmp(path, "data/mprof/ring-ref")) {
		for (const char *at = value; *at; at = *end ? end + 1 : end)
			map((uint32_t)strtoul(at, &end, 10));
	}
}

void machine_save(void)
{
	FILE *f;

	if (saved)
		return;
	saved = true;
	f = fopen(ring_path, "wb");
	if (!f)
		abort();
	for (unsigned i = 0; i < n_pages; i++)
		if (fwrite(pages[i], PAGE_SIZE, 1, f) != 1)
			abort();
	if (fclose(f))
		abort();
}

void machine_end(const char *why)
{
	machine_save();
	printf("lab: end %s, %u grants\n", why, devices_grants());
	fflush(stdout);
	_exit(0);
}

/* ---- the processor ---- */

void block_domain(s_time_t until)
{
	struct pt_regs regs = {0};

	if (n_delivered != n_raised) {
		do_event(events[n_delivered++ % EVENTS], &regs);
	} else if (until) {
		if (until > clock_ns)
			clock_ns = until;
	} else if (*words) {
		obey(*words++);
	} else {
		machine_end("idle");
	}
}

static void fault(int number, siginfo_t *info, void *context)
{
	struct pt_regs regs = {0};

#ifdef __x86_64__
	regs.rip = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#endif
	shared_info.vcpu_info[0].arch.cr2 = (unsigned long)info->si_addr;
	do_page_fault(&regs, 0);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};

	if (argc < 2)
		return 2;
	ring_path = argv[1];
	words = &argv[2];
	for (; *words && strchr(*words, '='); words++)
		strncat(strncat(cmdline, *words, sizeof(cmdline) - strlen(cmdline) - 1), " ",
			sizeof(cmdline) - strlen(cmdline) - 1);
	sigaction(SIGSEGV, &action, NULL);
	devices_init();
	store_init();
	app_main(NULL);
	sched_run();
}
