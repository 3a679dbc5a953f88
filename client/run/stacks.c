/*
 * Stacks of threads that wait for long.
 *
 * The place of a wait is the one that called the C library: often a lock of C++ or Rust. The code of the
 * program that waits is found on the thread's stack, which the keeper copies from outside while
 * the thread waits, once for each wait.
 *
 * The table of waiting threads and the stacks are the process's memory: nothing in them is trusted.
 */
#include <string.h>

#include "process.h"
#include "remote-memory.h"
#include "symbols.h"
#include "unwind.h"

#define LONG_NS	    1000000000u
#define NAME_NS	    3000000000u /* so long a lock waits for a name */
#define LOOKS	    16u		/* stacks of a process that are read at each step, every 100 ms */
#define STACK_BYTES 65536u
#define TEXT_BYTES  256u

bool stacks_name_later(struct process *p, const struct unnamed *u)
{
	for (uint32_t i = 0; i < UNNAMED; i++)
		if (!p->unnamed[i].id) {
			p->unnamed[i] = *u;
			return true;
		}
	return false;
}

static void unnamed_name(struct process *p, struct unnamed *u, const char *code)
{
	char text[TEXT_BYTES];

	lock_describe(u->id, code, text, sizeof(text));
	process_label(p, u->id, text);
	u->id = 0;
}

void stacks_name(struct process *p, uint64_t until)
{
	char code[TEXT_BYTES - 64];

	for (uint32_t i = 0; i < UNNAMED; i++) {
		struct unnamed *u = &p->unnamed[i];

		if (!u->id || u->time > until)
			continue;
		symbols_code(p->symbols, u->place - 1, code, sizeof(code));
		unnamed_name(p, u, code);
	}
}

/* The thread of WAITER is in the wait ID for long: name the code that waits, unless the place of the wait is that. */
static void stack_look(struct process *p, const struct run_waiter *waiter, int64_t id)
{
	static uint8_t bytes[STACK_BYTES];
	struct stack_copy copy = {.bytes = bytes};
	uint64_t place = waiter->place;
	int64_t on = waiter->on;
	uint32_t call = waiter->call;
	char place_code[TEXT_BYTES - 64], code[TEXT_BYTES - 64], text[TEXT_BYTES];

	memcpy(copy.registers, waiter->registers, sizeof(copy.registers));
	copy.n = remote_copy(p->pid, copy.registers[RUN_STACK_POINTER], bytes, sizeof(bytes));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&waiter->wait, __ATOMIC_RELAXED) != id ||
	    !symbols_caller(p->symbols, &copy, code, sizeof(code)))
		return;
	for (uint32_t i = 0; i < UNNAMED; i++)
		if (on && p->unnamed[i].id == on)
			unnamed_name(p, &p->unnamed[i], code);
	symbols_code(p->symbols, place - 1, place_code, sizeof(place_code));
	if (strcmp(code, place_code) == 0)
		return;
	call_describe(call, code, text, sizeof(text));
	process_label(p, id, text);
}

void stacks_look(struct process *p, uint64_t time, uint64_t stamp)
{
	uint32_t n = 0;

	if (!p->symbols)
		return;
	mprof_recorder_at(&p->objects, stamp);
	for (uint32_t i = 0; i < RUN_WAITERS && n < LOOKS; i++) {
		const struct run_waiter *waiter = &p->control->waiters[i];
		int64_t id = __atomic_load_n(&waiter->wait, __ATOMIC_ACQUIRE);
		uint64_t since = waiter->since;

		if (id > RUN_ID_WAIT_FIRST || id == p->looked[i] || since > time || time - since < LONG_NS)
			continue;
		p->looked[i] = id;
		stack_look(p, waiter, id);
		n++;
	}
	stacks_name(p, time - NAME_NS);
}
