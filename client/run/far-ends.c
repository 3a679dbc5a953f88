/*
 * The other ends of what threads wait for, which no event of the process shows: who can write to the pipe or socket that
 * a thread reads, who can read what it writes, and the child for whose end it waits. They are looked for once in each
 * wait that is long, and recorded as schema/mprof/events.def says.
 *
 * The table of waiting threads is the process's memory: nothing in it is trusted. A wrong number finds nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "other-end.h"
#include "process.h"

#define TEXT_BYTES 512u
#define LONG_NS	   1000000000u
#define SEARCH_NS  500000000u /* a search looks at all processes: some milliseconds */

static bool is_for_child(uint32_t call)
{
	switch (call) {
	case RUN_CALL_wait:
	case RUN_CALL_waitpid:
	case RUN_CALL_wait3:
	case RUN_CALL_wait4:
	case RUN_CALL_waitid:
	case RUN_CALL_pclose:
		return true;
	default:
		return false;
	}
}

static bool is_known(const struct process *p, pid_t pid)
{
	for (uint32_t i = 0; i < KNOWN && i < p->n_known; i++)
		if (p->known[i] == pid)
			return true;
	return false;
}

/* Record that the process PID, another one, is there, and its name. MORE others are like it. */
static void process_introduce(struct process *p, pid_t pid, uint32_t more)
{
	char name[64], text[TEXT_BYTES];

	if (!is_known(p, pid)) {
		p->known[p->n_known++ % KNOWN] = pid;
		p->objects.current = MPROF_THREAD_NONE;
		mprof_recorder_creates(&p->objects, pid, MPROF_THREAD_Process);
	}
	other_end_name(pid, name, sizeof(name));
	if (more)
		snprintf(text, sizeof(text), "%s, and %" PRIu32 " more", name, more);
	else
		snprintf(text, sizeof(text), "%s", name);
	process_label(p, pid, text);
}

/* Return whether an entry other than I has the other end of NEAR, too. */
static bool is_shared(const struct process *p, uint32_t i, int64_t near)
{
	for (uint32_t k = 0; k < RUN_WAITERS; k++)
		if (k != i && p->far[k].near == near)
			return true;
	return false;
}

/* Record that the far end F of a descriptor is the Stream that HOLDER has created, which is called TEXT. */
static void far_introduce(struct process *p, struct far_end *f, int64_t holder, const char *text)
{
	f->far = RUN_ID_FAR(p->far_ends++);
	p->objects.current = holder;
	mprof_recorder_creates(&p->objects, f->far, MPROF_THREAD_Stream);
	p->objects.current = MPROF_THREAD_NONE;
	process_label(p, f->far, text);
	mprof_recorder_try_read(&p->objects, f->near, f->far);
}

/* Record the other end END of the descriptor. */
static void end_introduce(struct process *p, struct far_end *f, const struct other_end *end)
{
	int64_t holder = MPROF_THREAD_NONE;
	char text[TEXT_BYTES] = "";
	int n = 0;

	if (end->pid && end->pid != p->pid)
		process_introduce(p, end->pid, 0);
	if (end->pid) {
		holder = end->pid == p->pid ? RUN_ID_FD(end->fd) : end->pid;
		n = snprintf(text, sizeof(text), "fd %" PRIu32 " ", end->fd);
	}
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", end->text);
	if (end->more)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", and %" PRIu32 " more", end->more);
	if (end->pid && end->cut)
		snprintf(text + n, sizeof(text) - (size_t)n, ", and perhaps others");
	far_introduce(p, f, holder, text);
}

static void descriptor_look(struct process *p, uint32_t i, int64_t on, uint32_t call)
{
	uint32_t fd = (uint32_t)(RUN_ID_FD(0) - on);
	char watched[TEXT_BYTES];
	struct other_end end;

	if (is_shared(p, i, on))
		return;
	p->far[i].near = on;
	if (other_end_watched(p->pid, fd, watched, sizeof(watched)))
		far_introduce(p, &p->far[i], on, watched);
	else if (other_end_find(p->pid, fd, run_call_writes(call), &end))
		end_introduce(p, &p->far[i], &end);
	else
		p->far[i].near = 0;
}

static void child_look(struct process *p, const struct run_waiter *waiter, int64_t id)
{
	uint32_t more;
	pid_t child = other_end_child(p->pid, __atomic_load_n(&waiter->owner, __ATOMIC_RELAXED), &more);

	if (child <= 0)
		return;
	process_introduce(p, child, more);
	mprof_recorder_try_read(&p->objects, id, child);
}

static bool has_far_end(int64_t on, uint32_t call)
{
	return on ? on <= RUN_ID_FD(0) && on > RUN_ID_WAIT_FIRST : is_for_child(call);
}

/* Look for the far end of the wait ID of entry I, which waits in CALL for ON. */
static void wait_look(struct process *p, uint32_t i, int64_t id, int64_t on, uint32_t call)
{
	if (on)
		descriptor_look(p, i, on, call);
	else
		child_look(p, &p->control->waiters[i], id);
}

/* The wait whose far end was found is over: another one for the same descriptor is looked at anew. */
static void wait_leave(struct process *p, struct far_end *f)
{
	mprof_recorder_read_later(&p->objects, f->near, f->far);
	for (uint32_t i = 0; i < RUN_WAITERS; i++)
		if (p->control->waiters[i].on == f->near)
			p->far[i].wait = 0;
	f->near = 0;
}

void far_ends_look(struct process *p, uint64_t time, uint64_t stamp, uint64_t *searched)
{
	mprof_recorder_at(&p->objects, stamp);
	for (uint32_t i = 0; i < RUN_WAITERS; i++) {
		const struct run_waiter *waiter = &p->control->waiters[i];
		int64_t id = __atomic_load_n(&waiter->wait, __ATOMIC_ACQUIRE), on = waiter->on;
		uint64_t since = waiter->since;
		uint32_t call = waiter->call;
		struct far_end *f = &p->far[i];

		if (f->near && id != f->wait)
			wait_leave(p, f);
		if (id > RUN_ID_WAIT_FIRST || id == f->wait || since > time || time - since < LONG_NS ||
		    !has_far_end(on, call) || time - *searched < SEARCH_NS)
			continue;
		f->wait = id;
		*searched = time;
		wait_look(p, i, id, on, call);
	}
}
