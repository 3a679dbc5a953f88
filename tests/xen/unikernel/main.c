/*
 * The program of the lab's unikernel. The thread "clerk" gets orders at a rate and serves them; the thread
 * "control" obeys domain 0: data/lab/cmd has a number, a verb and a number, and data/lab/done has the
 * number of the last command that was obeyed and how many orders were served.
 *
 * Words of the command line: pages=N, packets=N, rate=N (orders a second), directory, and VERB to live
 * shortly: as soon as domain 0 has mapped the ring, serve some orders and obey VERB.
 */
#include "kernel.h"

#define LAST_ORDERS 10u
#define DOG_SECONDS 1u

static struct {
	uint32_t pages, packets;
	uint64_t rate; /* orders a second; 0 = none by themselves */
	bool directory;
	char verb[16]; /* of the command line; empty = none */
	uint64_t served;
} lab = {.pages = 64, .packets = 8, .rate = 20};

static struct semaphore orders = {.name = "orders"};
static struct semaphore served = {.name = "served"};
static struct semaphore never = {.name = "never"};

/* ---- work ---- */

static void clerk(void *unused)
{
	(void)unused;
	for (;;) {
		semaphore_down(&orders);
		trace_counter("served", (int64_t)++lab.served);
		semaphore_up(&served);
	}
}

static void order(uint64_t n)
{
	while (n-- > 0) {
		semaphore_up(&orders);
		semaphore_down(&served);
	}
}

static void customer(void *unused)
{
	(void)unused;
	for (;;) {
		thread_sleep(1000 * NS_PER_MS / (lab.rate ? lab.rate : 1));
		if (lab.rate)
			order(1);
	}
}

static void hanger(void *unused)
{
	(void)unused;
	trace_should_resolve();
	semaphore_down(&never);
}

/* ---- ends ---- */

/* Serve the last orders, say how many those are, and record that number as the last event. */
static void last(void)
{
	lab.rate = 0;
	order(LAST_ORDERS);
	say("lab: last %u\n", lab.served);
	console_drain();
	interrupts_off();
	trace_counter("last", (int64_t)lab.served);
}

static void suspend(void)
{
	uint64_t rate = lab.rate;

	last();
	if (!xen_suspend())
		panic("this kernel does not go on as another domain");
	interrupts_restore(true);
	lab.rate = rate;
}

static _Noreturn void spin(void)
{
	interrupts_off();
	for (;;)
		__asm__ volatile("pause");
}

static void die(const char *how)
{
	last();
	if (text_equal(how, "fault"))
		*(volatile uint32_t *)0xdead0b1000 = 0;
	if (text_equal(how, "triple"))
		triple_fault();
	if (text_equal(how, "poweroff") || text_equal(how, "halt"))
		xen_end(END_POWEROFF);
	if (text_equal(how, "reboot"))
		xen_end(END_REBOOT);
	if (text_equal(how, "watchdog"))
		xen_watchdog(DOG_SECONDS);
	if (text_equal(how, "watchdog") || text_equal(how, "spin"))
		spin();
	panic("abort");
}

/* ---- commands ---- */

static void obey(const char *verb, uint64_t n)
{
	if (text_equal(verb, "write"))
		order(n);
	else if (text_equal(verb, "rate"))
		lab.rate = n;
	else if (text_equal(verb, "hang"))
		thread_create("hanger", hanger, NULL);
	else if (text_equal(verb, "withdraw"))
		say("lab: withdrawn %u\n", (uint64_t)share_withdraw());
	else if (text_equal(verb, "suspend"))
		suspend();
	else if (*verb && !text_equal(verb, "say"))
		die(verb);
}

static void answer(uint64_t id)
{
	char text[48];

	text_format(text, sizeof(text), "%u %u", id, lab.served);
	store_write("data/lab/done", text);
}

/* Obey what xl shutdown or xl save wants, which expects the key to be emptied first. */
static void toolstack(void)
{
	char text[16];

	if (!store_read("control/shutdown", text, sizeof(text)) || !*text)
		return;
	store_write("control/shutdown", "");
	obey(text, 0);
}

static void command(uint64_t *obeyed)
{
	char text[64], *verb = text, *number;
	uint64_t id;

	if (!store_read("data/lab/cmd", text, sizeof(text)) || (id = text_number(text)) == *obeyed)
		return;
	*obeyed = id;
	while (*verb && *verb++ != ' ')
		;
	for (number = verb; *number && *number != ' '; number++)
		;
	if (*number)
		*number++ = 0;
	obey(verb, text_number(number));
	answer(id);
}

static void control(void *unused)
{
	uint64_t obeyed = 0;

	(void)unused;
	store_watch("data/lab/cmd");
	store_watch("control/shutdown");
	answer(0);
	while (*lab.verb && !share_mapped())
		thread_sleep(5 * NS_PER_MS);
	obey(lab.verb, 0);
	for (;;) {
		store_wait();
		toolstack();
		command(&obeyed);
	}
}

/* ---- the start ---- */

static void word(const char *text)
{
	const char *value;

	if ((value = text_after(text, "pages=")))
		lab.pages = (uint32_t)text_number(value);
	else if ((value = text_after(text, "packets=")))
		lab.packets = (uint32_t)text_number(value);
	else if ((value = text_after(text, "rate=")))
		lab.rate = text_number(value);
	else if (text_equal(text, "directory"))
		lab.directory = true;
	else
		text_format(lab.verb, sizeof(lab.verb), "%s", text);
}

static void words(const char *line)
{
	char text[32];
	size_t n = 0;

	for (; line; line++) {
		if (*line && *line != ' ') {
			n += n + 1 < sizeof(text);
			text[n - 1] = *line;
			continue;
		}
		text[n] = 0;
		if (n)
			word(text);
		n = 0;
		if (!*line)
			return;
	}
}

/* Write TEXT to the port that QEMU and Xen have for debugging. */
static void debug(const char *text)
{
	for (; *text; text++)
		__asm__ volatile("outb %b0, $0xe9" ::"a"(*text));
}

_Noreturn void kernel_main(const struct start_info *start)
{
	traps_init();
	threads_init();
	if (start->magic != START_MAGIC || !xen_init()) {
		debug("unikernel: this machine is no guest of Xen\n");
		triple_fault();
	}
	memory_init(start);
	console_init();
	interrupts_restore(true);
	words((const char *)(uintptr_t)start->command_line);
	say("unikernel: %u pages, %u packets, %u orders a second\n", (uint64_t)lab.pages, (uint64_t)lab.packets,
	    lab.rate);
	trace_init(lab.pages, lab.packets);
	store_init();
	thread_create("clerk", clerk, NULL);
	share_publish(trace_ring(), lab.pages, lab.directory);
	thread_create("customer", customer, NULL);
	control(NULL);
	__builtin_unreachable();
}
