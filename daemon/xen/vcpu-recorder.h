/*
 * The helper's part of the stream vcpu (schema/vcpu.md): sample the vCPUs of guests, and record what
 * they did into the rings of the shared memory.
 */
#ifndef XEN_VCPU_RECORDER_H
#define XEN_VCPU_RECORDER_H

#include <stdint.h>

#include "vcpu-area.h"

struct vcpu_recorder;
struct xenctrl;

/*
 * Return a recorder that samples each INTERVAL ns and writes to AREA, or NULL without memory. It
 * allocates nothing afterwards. XENCTRL and AREA are borrowed. The process ends without freeing it.
 */
struct vcpu_recorder *vcpu_recorder_new(struct xenctrl *xenctrl, struct vcpu_area *area, uint64_t interval);

/*
 * Begin to record domain DOMID in SLOT, which is below VCPU_SLOTS, with a new ring and the clock of
 * that slot. Store the number of its vCPUs in *VCPUS. Return 0; -EBUSY if the slot is in use; -ESRCH
 * if there is no such domain, or none with a vCPU; -ENOSYS if libxenctrl has no such call.
 */
int vcpu_recorder_begin(struct vcpu_recorder *recorder, uint32_t slot, uint32_t domid, uint32_t *vcpus);
/*
 * Sample SLOT's guest once more, write what is not written yet, and free the slot. The ring stays as
 * it is. Return 0, or -ENOENT if the slot is free.
 */
int vcpu_recorder_end(struct vcpu_recorder *recorder, uint32_t slot);

/* Return when to call vcpu_recorder_run(), CLOCK_MONOTONIC ns; 0 = never, as nothing is recorded. */
uint64_t vcpu_recorder_due(const struct vcpu_recorder *recorder);
/*
 * Sample all guests. If that takes long, the next samples are later: they take at most a twentieth of
 * the time.
 */
void vcpu_recorder_run(struct vcpu_recorder *recorder);

#endif
