/*
 * The end of the process, and vfork().
 *
 * exit() runs the shim's destructor. A child of vfork() shares its parent's memory until it
 * executes another program: it must not record, as it has its parent's rings and TLS. vfork()
 * returns twice, so no C function can wrap it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"
#include "shim.h"

WRAPPER void _exit(int code)
{
	process_exits();
	REAL(_exit)(code);
	__builtin_unreachable();
}

WRAPPER void _Exit(int code)
{
	process_exits();
	REAL(_Exit)(code);
	__builtin_unreachable();
}

WRAPPER void quick_exit(int code)
{
	process_exits();
	REAL(quick_exit)(code);
	__builtin_unreachable();
}

/* Called by vfork() below: note in the thread's state what the caller has become. */
__attribute__((visibility("hidden"))) void shim_vfork_begins(void);
__attribute__((visibility("hidden"))) long shim_vfork_ends(long result);

void shim_vfork_begins(void)
{
	shim_self.vforked = true;
}

/* Run in the parent, after the child has gone. Set errno if the call failed. */
long shim_vfork_ends(long result)
{
	shim_self.vforked = false;
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

#ifdef __x86_64__

/* The return address is kept in a register, because the child uses the stack before the parent. */
__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call shim_vfork_begins\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rdi\n"
	"	mov $58, %eax\n" /* vfork */
	"	syscall\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	mov %rax, %rdi\n"
	"	sub $8, %rsp\n"
	"	call shim_vfork_ends\n"
	"	add $8, %rsp\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size vfork, .-vfork\n"
	".popsection\n");

#else

/* POSIX lets vfork() be fork(). The child records nothing: it is to execute a program. */
WRAPPER pid_t vfork(void)
{
	pid_t r = fork();

	if (r == 0)
		shim_vfork_begins();
	return r;
}

#endif
