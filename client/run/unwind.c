/* Stacks by elfutils' libdwfl, over bytes that were copied: no thread is stopped. */
#include "unwind.h"

#include <string.h>

struct walk {
	uint64_t *calls;
	uint32_t most, n;
};

/* libdwfl keeps one argument for each process; the keeper has one thread. */
static const struct stack_copy *current;

static pid_t thread_next(Dwfl *dwfl, void *state, void **thread)
{
	/* There is one, that of the copy. */
	if (*thread)
		return 0;
	*thread = dwfl;
	(void)state;
	return dwfl_pid(dwfl);
}

static bool thread_get(Dwfl *dwfl, pid_t tid, void *state, void **thread)
{
	(void)state;
	*thread = dwfl;
	return tid == dwfl_pid(dwfl);
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *state)
{
	uint64_t at = address - current->registers[RUN_STACK_POINTER];

	(void)dwfl;
	(void)state;
	if (at >= current->n || current->n - at < sizeof(*word))
		return false;
	memcpy(word, current->bytes + at, sizeof(*word));
	return true;
}

static bool registers_set(Dwfl_Thread *thread, void *state)
{
	const Dwarf_Word *r = (const Dwarf_Word *)current->registers;

	(void)state;
#if defined(__x86_64__)
	if (current->bare)
		return dwfl_thread_state_registers(thread, 7, 1, r + RUN_STACK_POINTER) &&
		       dwfl_thread_state_registers(thread, 16, 1, r + 7);
	/* rbx, rbp and rsp, r12 to r15, and the return address, which is the address of the code. */
	return dwfl_thread_state_registers(thread, 3, 1, r) && dwfl_thread_state_registers(thread, 6, 2, r + 1) &&
	       dwfl_thread_state_registers(thread, 12, 5, r + 3);
#elif defined(__aarch64__)
	dwfl_thread_state_register_pc(thread, r[13]);
	if (current->bare)
		return dwfl_thread_state_registers(thread, 31, 1, r + RUN_STACK_POINTER);
	return dwfl_thread_state_registers(thread, 19, 13, r);
#else
	(void)r;
	return false;
#endif
}

bool unwind_prepare(Dwfl *dwfl, pid_t pid)
{
	static const Dwfl_Thread_Callbacks callbacks = {
		.next_thread = thread_next,
		.get_thread = thread_get,
		.memory_read = memory_read,
		.set_initial_registers = registers_set,
	};

	return dwfl_attach_state(dwfl, NULL, pid, &callbacks, NULL);
}

static int frame_add(Dwfl_Frame *frame, void *context)
{
	struct walk *w = context;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	/* A return address belongs to the call before it. */
	w->calls[w->n++] = exact ? pc : pc - 1;
	return w->n < w->most ? DWARF_CB_OK : DWARF_CB_ABORT;
}

uint32_t unwind(Dwfl *dwfl, const struct stack_copy *copy, uint64_t *calls, uint32_t most)
{
	struct walk w = {.calls = calls, .most = most};

	current = copy;
	if (most)
		dwfl_getthread_frames(dwfl, dwfl_pid(dwfl), frame_add, &w);
	current = NULL;
	return w.n;
}
