/*
 * System calls of the shim itself. They do not go through the C library, because the shim wraps
 * its functions; they leave errno alone and are no cancellation points. In a sandbox none is made (seccomp.h).
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "seccomp.h"

/* Make the system call N. Return its result, or -errno. */
static inline long kernel_call(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
			 x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "mprof-run knows the system calls of x86-64 and aarch64"
#endif
}

/* Make the system call N unless the process is in a sandbox. Return its result, or -errno. */
static inline long kernel_ask(long n, long a, long b, long c, long d, long e, long f)
{
	return seccomp_is_on() ? -EPERM : kernel_call(n, a, b, c, d, e, f);
}

#define KERNEL0(n)		     kernel_ask((n), 0, 0, 0, 0, 0, 0)
#define KERNEL1(n, a)		     kernel_ask((n), (long)(a), 0, 0, 0, 0, 0)
#define KERNEL2(n, a, b)	     kernel_ask((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define KERNEL3(n, a, b, c)	     kernel_ask((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define KERNEL5(n, a, b, c, d, e)    kernel_ask((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define KERNEL6(n, a, b, c, d, e, f) kernel_ask((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
