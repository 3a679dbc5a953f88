/* The registers by which the keeper reads a waiting thread's stack. */
#ifndef SHIM_REGISTERS_H
#define SHIM_REGISTERS_H

#include <stdint.h>

#include "shared.h"

/* Store to R the registers of the function that calls this, in the order of struct run_waiter. */
static inline __attribute__((always_inline)) void registers_take(uint64_t r[RUN_REGISTERS])
{
#if defined(__x86_64__)
	uint64_t here;

	__asm__ volatile("movq %%rbx, (%1)\n\t"
			 "movq %%rbp, 8(%1)\n\t"
			 "movq %%rsp, 16(%1)\n\t"
			 "movq %%r12, 24(%1)\n\t"
			 "movq %%r13, 32(%1)\n\t"
			 "movq %%r14, 40(%1)\n\t"
			 "movq %%r15, 48(%1)\n\t"
			 "leaq 0f(%%rip), %0\n\t"
			 "movq %0, 56(%1)\n"
			 "0:"
			 : "=&r"(here)
			 : "r"(r)
			 : "memory");
#elif defined(__aarch64__)
	uint64_t here;

	__asm__ volatile("stp x19, x20, [%1]\n\t"
			 "stp x21, x22, [%1, 16]\n\t"
			 "stp x23, x24, [%1, 32]\n\t"
			 "stp x25, x26, [%1, 48]\n\t"
			 "stp x27, x28, [%1, 64]\n\t"
			 "stp x29, x30, [%1, 80]\n\t"
			 "mov %0, sp\n\t"
			 "str %0, [%1, 96]\n\t"
			 "adr %0, 0f\n\t"
			 "str %0, [%1, 104]\n"
			 "0:"
			 : "=&r"(here)
			 : "r"(r)
			 : "memory");
#endif
}

#endif
