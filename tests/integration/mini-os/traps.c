/* Faults of the guest: each ends it, as a crash does. */
#include "stand-in.h"

#include <stdio.h>

void do_page_fault(struct pt_regs *regs, unsigned long error_code)
{
	printf("Page fault at linear address %lx, rip %lx\n", HYPERVISOR_shared_info->vcpu_info[0].arch.cr2, regs->rip);
	machine_end("crash");
}

void do_general_protection(struct pt_regs *regs, long error_code)
{
	machine_end("crash");
}

void do_exit(void)
{
	machine_end("crash");
}
