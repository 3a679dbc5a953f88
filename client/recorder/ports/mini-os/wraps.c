/*
 * Mini-OS's functions that the linker replaces by recording ones: `ld --wrap`, with the options in
 * the file `wrap`. A call inside the file that defines the function is not replaced.
 */
#include "mini-os-port.h"

#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* ---- threads ---- */

WRAP(void, __arch_switch_threads, unsigned long *prevctx, unsigned long *nextctx)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (p->on) {
		flags = port_begin();
		mprof_recorder_switch(&p->recorder, port_thread_id(p, (struct thread *)((char *)nextctx -
											offsetof(struct thread, sp))));
		port_end(p, flags);
	}
	__real___arch_switch_threads(prevctx, nextctx);
}

WRAP(struct thread *, create_thread, char *name, void (*function)(void *), void *data)
{
	struct thread *thread = __real_create_thread(name, function, data);
	struct port *p = &mprof_port;
	unsigned long flags;

	if (p->on) {
		flags = port_begin();
		port_here(p);
		port_thread_id(p, thread);
		port_end(p, flags);
	}
	return thread;
}

WRAP(void, exit_thread, void)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (p->on) {
		flags = port_begin();
		mprof_recorder_fulfills(&p->recorder, port_here(p));
		port_thread_forget(p, get_current());
		port_end(p, flags);
	}
	__real_exit_thread();
}

WRAP(void, wake, struct thread *thread)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();

	if (p->on)
		port_woken(p, thread);
	__real_wake(thread);
	port_end(p, flags);
}

/* Record a wait of the running thread that Mini-OS's own code began. Return whether there is one. */
static bool wait_in_kernel(struct port *p)
{
	unsigned long flags;
	bool waits;

	if (!p->on)
		return false;
	flags = port_begin();
	waits = !is_runnable(get_current()) && !port_waits(p);
	if (waits)
		port_wait(p, 0, get_current()->wakeup_time, "blocked", "");
	port_end(p, flags);
	return waits;
}

/* Begin a wait of the running thread with the label WHAT TEXT. TIMED: it may end by time. */
static void begin_timed(bool timed, const char *what, const char *text)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (!p->on)
		return;
	flags = port_begin();
	port_wait(p, 0, timed, what, text);
	port_end(p, flags);
}

static void begin_wait(const char *what, const char *text)
{
	begin_timed(false, what, text);
}

static void end_wait(void)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (!p->on)
		return;
	flags = port_begin();
	port_wait_end(p);
	port_here(p);
	port_end(p, flags);
}

WRAP(void, schedule, void)
{
	struct port *p = &mprof_port;
	bool waited = wait_in_kernel(p);
	unsigned long flags;

	__real_schedule();
	if (waited) {
		end_wait();
	} else if (p->on) {
		flags = port_begin();
		port_here(p);
		port_end(p, flags);
	}
}

WRAP(void, msleep, uint32_t milliseconds)
{
	char text[24];

	snprintf(text, sizeof(text), "%u ms", (unsigned)milliseconds);
	begin_timed(true, "sleep ", text);
	__real_msleep(milliseconds);
	end_wait();
}

/* The guest has nothing to do until UNTIL or the next event. */
WRAP(void, block_domain, s_time_t until)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (p->on && mprof_recorder_current(&p->recorder) != MPROF_THREAD_NONE) {
		flags = port_begin();
		mprof_recorder_suspend(&p->recorder);
		port_end(p, flags);
	}
	__real_block_domain(until);
}

/* ---- event channels ---- */

WRAP(int, do_event, evtchn_port_t port, struct pt_regs *regs)
{
	struct port *p = &mprof_port;
	int64_t before = mprof_recorder_current(&p->recorder);
	int outer = p->handling, result;
	unsigned long flags;

	p->handling = (int)port;
	result = __real_do_event(port, regs);
	p->handling = outer;
	/* A handler that records nothing leaves no event. */
	if (p->on && mprof_recorder_current(&p->recorder) != before) {
		flags = port_begin();
		mprof_recorder_switch(&p->recorder, before);
		port_end(p, flags);
	}
	return result;
}

WRAP(evtchn_port_t, bind_virq, uint32_t virq, evtchn_handler_t handler, void *data)
{
	evtchn_port_t port = __real_bind_virq(virq, handler, data);

	if (virq == VIRQ_TIMER)
		mprof_mini_os_name_port(port, "timer");
	return port;
}

/* ---- XenStore ---- */

WRAP(char *, xenbus_read, xenbus_transaction_t xbt, const char *path, char **value)
{
	char *error;

	begin_wait("XenStore read ", path);
	error = __real_xenbus_read(xbt, path, value);
	end_wait();
	return error;
}

WRAP(char *, xenbus_write, xenbus_transaction_t xbt, const char *path, const char *value)
{
	char *error;

	begin_wait("XenStore write ", path);
	error = __real_xenbus_write(xbt, path, value);
	end_wait();
	return error;
}

WRAP(char *, xenbus_rm, xenbus_transaction_t xbt, const char *path)
{
	char *error;

	begin_wait("XenStore rm ", path);
	error = __real_xenbus_rm(xbt, path);
	end_wait();
	return error;
}

WRAP(char *, xenbus_ls, xenbus_transaction_t xbt, const char *path, char ***contents)
{
	char *error;

	begin_wait("XenStore directory ", path);
	error = __real_xenbus_ls(xbt, path, contents);
	end_wait();
	return error;
}

WRAP(char *, xenbus_get_perms, xenbus_transaction_t xbt, const char *path, char **value)
{
	char *error;

	begin_wait("XenStore get permissions ", path);
	error = __real_xenbus_get_perms(xbt, path, value);
	end_wait();
	return error;
}

WRAP(char *, xenbus_set_perms, xenbus_transaction_t xbt, const char *path, domid_t domid, char perm)
{
	char *error;

	begin_wait("XenStore set permissions ", path);
	error = __real_xenbus_set_perms(xbt, path, domid, perm);
	end_wait();
	return error;
}

WRAP(char *, xenbus_watch_path_token, xenbus_transaction_t xbt, const char *path, const char *token,
     xenbus_event_queue *events)
{
	char *error;

	begin_wait("XenStore watch ", path);
	error = __real_xenbus_watch_path_token(xbt, path, token, events);
	end_wait();
	return error;
}

WRAP(char *, xenbus_unwatch_path_token, xenbus_transaction_t xbt, const char *path, const char *token)
{
	char *error;

	begin_wait("XenStore unwatch ", path);
	error = __real_xenbus_unwatch_path_token(xbt, path, token);
	end_wait();
	return error;
}

WRAP(char *, xenbus_transaction_start, xenbus_transaction_t *xbt)
{
	char *error;

	begin_wait("XenStore transaction start", "");
	error = __real_xenbus_transaction_start(xbt);
	end_wait();
	return error;
}

WRAP(char *, xenbus_transaction_end, xenbus_transaction_t xbt, int abort, int *retry)
{
	char *error;

	begin_wait(abort ? "XenStore transaction abort" : "XenStore transaction end", "");
	error = __real_xenbus_transaction_end(xbt, abort, retry);
	end_wait();
	return error;
}

WRAP(char **, xenbus_wait_for_watch_return, xenbus_event_queue *queue)
{
	char **path;

	begin_wait("XenStore watch event", "");
	path = __real_xenbus_wait_for_watch_return(queue);
	end_wait();
	return path;
}

WRAP(void, xenbus_wait_for_watch, xenbus_event_queue *queue)
{
	begin_wait("XenStore watch event", "");
	__real_xenbus_wait_for_watch(queue);
	end_wait();
}

/* ---- crashes ---- */

static void fail(const char *text)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (!p->on)
		return;
	flags = port_begin();
	port_fail(p, text);
	port_end(p, flags);
}

#define PAGE_FAULT_PRESENT 1ul
#define PAGE_FAULT_WRITE   2ul

WRAP(void, do_page_fault, struct pt_regs *regs, unsigned long error_code)
{
	char text[80];

	/* Mini-OS may handle a write to a page that is present and read-only: it copies the zero page. */
	if ((error_code & (PAGE_FAULT_PRESENT | PAGE_FAULT_WRITE)) != (PAGE_FAULT_PRESENT | PAGE_FAULT_WRITE)) {
		snprintf(text, sizeof(text), "page fault at 0x%lx, instruction at 0x%lx",
			 (unsigned long)HYPERVISOR_shared_info->vcpu_info[0].arch.cr2, (unsigned long)regs->rip);
		fail(text);
	}
	__real_do_page_fault(regs, error_code);
}

WRAP(void, do_general_protection, struct pt_regs *regs, long error_code)
{
	char text[80];

	snprintf(text, sizeof(text), "general protection fault, instruction at 0x%lx", (unsigned long)regs->rip);
	fail(text);
	__real_do_general_protection(regs, error_code);
}

/* BUG(), ASSERT() and other traps come here. */
WRAP(void, do_exit, void)
{
	fail("do_exit");
	__real_do_exit();
}
