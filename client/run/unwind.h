/* A thread's stack, read from outside: which code called which. */
#ifndef RUN_UNWIND_H
#define RUN_UNWIND_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared.h"

/* Part of a thread's stack, and the registers of a function on it in the order of struct run_waiter. */
struct stack_copy {
	uint64_t registers[RUN_REGISTERS];
	const uint8_t *bytes; /* of the stack from the stack pointer upwards */
	uint64_t n;
	bool bare; /* of the registers only the stack pointer and the address of the code are known */
};

/* Let unwind() follow stacks of the process PID, whose modules DWFL knows. Return false if that is not possible. */
bool unwind_prepare(Dwfl *dwfl, pid_t pid);
/*
 * Follow COPY from the function of its registers to its callers. Write to CALLS, which has room for MOST, an address
 * in each of the calls by which they wait, innermost first, from the function of the registers on. Return their
 * number.
 */
uint32_t unwind(Dwfl *dwfl, const struct stack_copy *copy, uint64_t *calls, uint32_t most);

#endif
