/*
 * Memory that the collector and its helper share: a ring for each guest whose vCPUs are recorded.
 *
 * The helper writes the rings, and the collector reads them as it reads every ring. The collector
 * writes the offsets of the guests' clocks. Neither trusts what the other writes.
 */
#ifndef XEN_VCPU_AREA_H
#define XEN_VCPU_AREA_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "cleanup.h"

#define VCPU_SLOTS	  64u  /* guests at a time */
#define VCPU_MAX	  128u /* vCPUs of a guest */
#define VCPU_RING_BYTES	  (256u << 10)
#define VCPU_RING_PACKETS 8u

/* The clock of a slot's guest, as the collector last estimated it. */
struct vcpu_clock {
	_Atomic uint64_t offset;      /* ns of CLOCK_MONOTONIC minus ns of the guest's clock, modulo 2^64 */
	_Atomic uint64_t uncertainty; /* the true offset is smaller by at most this, ns */
};

struct vcpu_area {
	struct vcpu_clock clocks[VCPU_SLOTS];
	alignas(4096) uint8_t rings[VCPU_SLOTS][VCPU_RING_BYTES];
};

/*
 * Return zeroed memory that this process shares with the processes that it forks, or NULL. A page of
 * it takes memory from its first use on.
 */
struct vcpu_area *vcpu_area_new(void);
struct vcpu_area *vcpu_area_free(struct vcpu_area *area); /* unmaps it in this process; accepts NULL */
CLEANUP_DEFINE(struct vcpu_area, vcpu_area_free)

#endif
