/*
 * Mini-OS's interface, as far as the recorder's port and the guest of the tests use it. These headers were written for this project
 * from the calls of the port. They declare; the other files of this folder define.
 */
#ifndef MINI_OS_OS_H
#define MINI_OS_OS_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_SIZE	     4096UL
#define VIRQ_TIMER	     0
#define local_irq_save(x)    ((x) = 0) /* the stand-in delivers events only while no thread runs */
#define local_irq_restore(x) ((void)(x))

typedef int64_t s_time_t;
typedef uint16_t domid_t;
typedef uint32_t evtchn_port_t;
typedef uint32_t grant_ref_t;

struct pt_regs {
	unsigned long rip;
};

struct shared_info {
	struct {
		struct {
			unsigned long cr2; /* the address of a page fault */
		} arch;
	} vcpu_info[1];
};

extern struct shared_info *HYPERVISOR_shared_info;
extern char cmdline[];

uint64_t monotonic_clock(void); /* ns */
#define NOW() ((s_time_t)monotonic_clock())

void block_domain(s_time_t until);
void do_page_fault(struct pt_regs *regs, unsigned long error_code);
void do_general_protection(struct pt_regs *regs, long error_code);
void do_exit(void) __attribute__((noreturn));

#endif
