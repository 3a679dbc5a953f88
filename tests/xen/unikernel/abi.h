/*
 * Facts of Xen's interface for PVH guests on x86-64, as far as this unikernel uses it: numbers and layouts
 * that Xen's public headers document. Addresses in the structures are physical ones, which are the
 * addresses of this kernel.
 */
#ifndef ABI_H
#define ABI_H

#include <stdint.h>

#include <mprof/pvclock.h>

#define PAGE	    4096u
#define DOMID_0	    0u
#define DOMID_SELF  0x7ff0u
#define START_MAGIC 0x336ec578u

/* ---- what the kernel is started with ---- */

struct start_info {
	uint32_t magic, version, flags, modules;
	uint64_t module_list;
	uint64_t command_line; /* address of a text; 0 = none */
	uint64_t acpi;
	uint64_t memory_map; /* from VERSION 1 on */
	uint32_t memory_ranges, reserved;
};

#define MEMORY_RAM 1u

struct memory_range {
	uint64_t address, bytes;
	uint32_t type, reserved;
};

/* ---- hypercalls: entry N of the hypercall page, which begins at byte 32 * N ---- */

#define CALL_MEMORY 12u
#define CALL_GRANTS 20u
#define CALL_VCPU   24u
#define CALL_SCHED  29u
#define CALL_EVENTS 32u
#define CALL_HVM    34u

/* CPUID: some leaf 0x40000000 + 0x100 * N has this name in ebx, ecx, edx; leaf + 2 has in ebx the register to set. */
#define XEN_CPUID      0x40000000u
#define XEN_CPUID_STEP 0x100u
#define XEN_CPUID_END  0x40010000u

#define MEMORY_ADD_TO_PHYSMAP 7u
#define SPACE_SHARED_INFO     0u
#define SPACE_GRANT_TABLE     1u

struct add_to_physmap {
	uint16_t domid, size;
	uint32_t space;
	uint64_t index, frame;
};

#define HVM_SET_PARAM	    0u
#define HVM_GET_PARAM	    1u
#define PARAM_CALLBACK	    0u
#define PARAM_STORE_FRAME   1u
#define PARAM_STORE_PORT    2u
#define PARAM_CONSOLE_FRAME 17u
#define PARAM_CONSOLE_PORT  18u
#define CALLBACK_VECTOR	    (2ull << 56) /* or the number of a trap */

struct hvm_param {
	uint16_t domid, pad;
	uint32_t index;
	uint64_t value;
};

#define SCHED_YIELD    0u
#define SCHED_SHUTDOWN 2u
#define SCHED_WATCHDOG 6u

enum end { END_POWEROFF, END_REBOOT, END_SUSPEND, END_CRASH };

struct watchdog {
	uint32_t id, seconds;
};

#define VCPU_STOP_PERIODIC 7u
#define VCPU_SET_TIMER	   8u
#define VCPU_STOP_TIMER	   9u

struct timer {
	uint64_t deadline; /* ns of the system time */
	uint32_t flags, pad;
};

#define EVENTS_BIND_VIRQ     1u
#define EVENTS_CLOSE	     3u
#define EVENTS_SEND	     4u
#define EVENTS_ALLOC_UNBOUND 6u
#define EVENTS_UNMASK	     9u
#define VIRQ_TIMER	     0u

struct bind_virq {
	uint32_t virq, vcpu, port;
};

struct alloc_unbound {
	uint16_t domid, remote;
	uint32_t port;
};

/* ---- pages that Xen or domain 0 writes ---- */

struct vcpu_info {
	volatile uint8_t pending, mask;
	uint8_t pad[6];
	volatile uint64_t selector; /* bit N: word N of the event channels has news */
	uint64_t fault, pad2;
	struct mprof_pvclock time;
};

struct shared_info {
	struct vcpu_info vcpus[32];
	volatile uint64_t pending[64]; /* a bit for each event channel */
	volatile uint64_t masked[64];
};

#define GRANT_PERMIT   1u
#define GRANT_READONLY 4u
#define GRANT_MAPPED   (8u | 16u) /* set by Xen while the page is mapped: for reading, for writing */
#define GRANT_FIRST    8u	  /* those before are reserved */

struct grant {
	volatile uint16_t flags;
	uint16_t domid;
	uint32_t frame;
};

struct console_ring {
	char in[1024], out[2048];
	volatile uint32_t in_consumed, in_produced, out_consumed, out_produced;
};

struct store_ring {
	char requests[1024], answers[1024];
	volatile uint32_t requests_consumed, requests_produced, answers_consumed, answers_produced;
};

#define STORE_READ    2u
#define STORE_WATCH   4u
#define STORE_WRITE   11u
#define STORE_REMOVE  13u
#define STORE_EVENT   15u
#define STORE_ERROR   16u
#define STORE_MESSAGE 4096u /* the greatest message, without its header */

struct store_header {
	uint32_t type, request, transaction, bytes;
};

_Static_assert(sizeof(struct vcpu_info) == 64, "vcpu_info is 64 bytes");
_Static_assert(__builtin_offsetof(struct shared_info, masked) == 2560, "evtchn_mask is at byte 2560");

#endif
