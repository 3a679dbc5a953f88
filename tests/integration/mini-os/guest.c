/*
 * A guest of the stand-in for Mini-OS, recorded by the port in client/recorder/ports/mini-os. It obeys the
 * commands that domain 0 writes to its key data/lab/cmd, "ID VERB [NUMBER]", and writes the ID to
 * data/lab/done when it has obeyed.
 *
 *  serve N      let the workers serve N requests
 *  many         create more threads, semaphores and event channels than the recorder has room for
 *  lookup       let the client ask the resolver. The client has a mistake: it initialises the
 *               semaphore of the answer after it has sent the question, so it misses the wake-up
 *  fault        the parser reads through a bad pointer
 *  bug          the parser finds an error and ends the guest
 *
 * The word pages=N on the kernel's command line is the size of the ring, in pages.
 *
 * It also serves one request for each notification of the event channel in data/lab/event-channel.
 * app_shutdown() withdraws its ring. Before it dies by a mistake it prints on its console the number of
 * its last counter event.
 */
#include <mini-os/os.h>
/* os.h must come first. */
#include <mini-os/events.h>
#include <mini-os/lib.h>
#include <mini-os/sched.h>
#include <mini-os/semaphore.h>
#include <mini-os/wait.h>
#include <mini-os/xenbus.h>
#include <mini-os/xmalloc.h>

#include <mprof-mini-os.h>

#include "stand-in.h"

#define WORKERS	      2
#define MANY	      300
#define MANY_THREADS  80
#define MANY_CHANNELS 40
#define BAD_POINTER   0xdead0b10ul

static struct semaphore requests, served, lock, question, answer, broken;
static DECLARE_WAIT_QUEUE_HEAD(client_wanted);
static volatile int64_t n_served, lookups;
static volatile uint64_t bell;
static const char *mistake = "";

static void work(void *unused)
{
	for (;;) {
		down(&requests);
		down(&lock);
		msleep(1);
		mprof_mini_os_counter("served", ++n_served);
		up(&lock);
		up(&served);
	}
}

/* Answer each question at once. */
static void resolve(void *unused)
{
	for (;;) {
		down(&question);
		up(&answer);
	}
}

static void ask(void *unused)
{
	char *error;

	mprof_mini_os_should_resolve();
	wait_event(client_wanted, lookups > 0);
	up(&question);
	error = xenbus_write(XBT_NIL, "data/lab/client", "asked"); /* the resolver answers meanwhile */
	if (error)
		free(error);
	init_SEMAPHORE(&answer, 0);
	down(&answer);
	printk("lab: the client has its answer\n");
}

/* Die by the mistake that the controller chose. */
static void parse(void *unused)
{
	down(&broken);
	printk("lab: last %s 77\n", mistake);
	mprof_mini_os_counter(mistake, 77);
	if (!strcmp(mistake, "fault"))
		printk("%d\n", *(volatile int *)BAD_POINTER); // NOLINT(performance-no-int-to-ptr)
	do_exit();
}

static void serve(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		up(&requests);
	for (unsigned long i = 0; i < n; i++)
		down(&served);
}

static void ring_bell(evtchn_port_t port, struct pt_regs *regs, void *data)
{
	bell++;
	up(&requests);
}

static struct semaphore crowd[MANY];

static void visit(void *unused)
{
	down(&crowd[0]);
}

/* Use more threads, semaphores and event channels at once than the recorder's tables hold. */
static void use_many(void)
{
	evtchn_port_t port;

	for (int i = 0; i < MANY; i++) {
		init_SEMAPHORE(&crowd[i], 0);
		up(&crowd[i]);
		if (i)
			down(&crowd[i]);
	}
	down(&crowd[0]);
	for (int i = 0; i < MANY_THREADS; i++)
		create_thread("visitor", visit, NULL);
	schedule();
	for (int i = 0; i < MANY_THREADS; i++)
		up(&crowd[0]);
	for (int i = 0; i < MANY_CHANNELS && !evtchn_alloc_unbound(0, ring_bell, NULL, &port); i++)
		notify_remote_via_evtchn(port);
	msleep(1);
}

static void obey(const char *verb, unsigned long number)
{
	if (!strcmp(verb, "serve")) {
		serve(number);
	} else if (!strcmp(verb, "many")) {
		use_many();
	} else if (!strcmp(verb, "lookup")) {
		lookups++;
		wake_up(&client_wanted);
	} else {
		mistake = !strcmp(verb, "fault") ? "fault" : "bug";
		up(&broken);
	}
}

static void put(const char *key, const char *value)
{
	char *error = xenbus_write(XBT_NIL, key, value);

	if (error) {
		printk("lab: %s: %s\n", key, error);
		free(error);
	}
}

/* Obey the command in VALUE unless it is the last one again. */
static void command(const char *value)
{
	static char last[16];
	char id[16], verb[16];
	unsigned long number = 0;

	if (sscanf(value, "%15s %15s %lu", id, verb, &number) < 2 || !strcmp(id, last))
		return;
	strcpy(last, id);
	obey(verb, number);
	put("data/lab/done", id);
}

static void control(void *unused)
{
	static xenbus_event_queue events;
	evtchn_port_t port;
	char text[16], *value, *error;

	if (!evtchn_alloc_unbound(0, ring_bell, NULL, &port)) {
		mprof_mini_os_name_port(port, "bell");
		unmask_evtchn(port);
		snprintf(text, sizeof(text), "%u", (unsigned)port);
		put("data/lab/event-channel", text);
	}
	error = xenbus_watch_path_token(XBT_NIL, "data/lab/cmd", "cmd", &events);
	if (error)
		printk("lab: watching data/lab/cmd: %s\n", error);
	put("data/lab/done", "0");
	for (;;) {
		xenbus_wait_for_watch(&events);
		error = xenbus_read(XBT_NIL, "data/lab/cmd", &value);
		if (error) {
			free(error); /* not yet written */
			continue;
		}
		command(value);
		free(value);
	}
}

/* The thread "shutdown" calls it. */
void app_shutdown(unsigned reason)
{
	printk("lab: shutdown %u, dropped %lu\n", reason, (unsigned long)mprof_mini_os_dropped());
	mprof_mini_os_stop();
	machine_end("shutdown");
}

int app_main(void *unused)
{
	static char names[WORKERS][16];
	struct mprof_mini_os_options options = {.pages = 0};
	const char *pages = strstr(cmdline, "pages=");

	if (pages)
		options.pages = (uint32_t)strtoul(pages + strlen("pages="), NULL, 10);
	if (mprof_mini_os_start(&options))
		printk("lab: mprof_mini_os_start failed\n");
	init_SEMAPHORE(&requests, 0);
	init_SEMAPHORE(&served, 0);
	init_SEMAPHORE(&question, 0);
	init_SEMAPHORE(&answer, 0);
	init_SEMAPHORE(&broken, 0);
	init_SEMAPHORE(&lock, 1);
	for (int i = 0; i < WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker %d", i + 1);
		create_thread(names[i], work, NULL);
	}
	create_thread("resolver", resolve, NULL);
	create_thread("client", ask, NULL);
	create_thread("parser", parse, NULL);
	create_thread("control", control, NULL);
	return 0;
}
