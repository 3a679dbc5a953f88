/*
 * The stream vcpu of a domain's run (schema/vcpu.md), as the collector sees it: it asks the helper to
 * record what the vCPUs do into a slot of the shared memory, and reads that ring like any other.
 *
 * A track belongs to a run. It begins when the policy wants it and the clock of the guest is known.
 * It ends with the run, with a suspension, or when the guest's clock goes back; then its slot is free
 * as soon as the helper has answered and the stream is detached.
 */
#ifndef XEN_VCPU_TRACK_H
#define XEN_VCPU_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/ids.h>

#include "memory.h"
#include "schedule.h"
#include "stream.h"
#include "vcpu-area.h"

struct domain;
struct helper_answer;
struct host;

#define VCPU_NUMBER_FIRST MPROF_STREAM_HOST
#define VCPU_NUMBERS	  64u /* streams vcpu of a run */

enum vcpu_phase {
	VCPU_PHASE_OFF,
	VCPU_PHASE_ASKED,  /* the helper was asked to begin */
	VCPU_PHASE_ON,	   /* the helper records, and the stream is attached */
	VCPU_PHASE_ENDING, /* the helper must still write the last events */
	VCPU_PHASE_ENDED,  /* nobody writes any more, and the stream is attached */
};

struct vcpu_track {
	struct task task; /* first member; polls the stream */
	struct domain *domain;
	enum vcpu_phase phase;
	uint32_t slot;	   /* valid unless OFF */
	uint32_t streams;  /* number of such streams that the run has had */
	uint32_t silences; /* how often a silent helper has ended the run's track */
	bool refused; /* the helper cannot record this domain, or the run has had all its streams: do not ask again in this run */
	uint64_t begin_from; /* do not begin before, because the helper was silent; CLOCK_MONOTONIC ns */
	bool end_asked;	     /* ENDING: the helper was asked to end */
	uint64_t end_by;     /* ENDING: when to go on without its answer, CLOCK_MONOTONIC ns */
	uint64_t leave_at;   /* ENDED: when to detach the stream if the run goes on, CLOCK_MONOTONIC ns */
	unsigned steps;	     /* the domain's CLOCK_STEPS when the track began */
	struct memory_array memory;
	struct stream stream;
};

enum vcpu_slot_state {
	VCPU_SLOT_FREE,
	VCPU_SLOT_BEGINS, /* the helper was asked to begin */
	VCPU_SLOT_ON,	  /* the helper writes */
	VCPU_SLOT_ENDS,	  /* the helper was asked to end */
	VCPU_SLOT_READ,	  /* nobody writes any more, and the track still reads */
};

/* The slots of the host. */
struct vcpu_slots {
	struct vcpu_area *area; /* owned; NULL = no vCPUs are recorded */
	struct vcpu_slot {
		enum vcpu_slot_state state;
		struct vcpu_track *track; /* NULL = the track is detached */
	} slots[VCPU_SLOTS];
	bool said_full; /* it was logged that there is no slot */
};

/* Initialise the track of DOMAIN, which owns it. */
void vcpu_track_init(struct vcpu_track *track, struct domain *domain);
/* The run has ended: the next one has streams of its own. */
void vcpu_track_renew(struct vcpu_track *track);
/* A ring of the domain was polled: begin the track, end it, or correct its clock. */
void vcpu_track_step(struct vcpu_track *track, uint64_t now);
/* Let the helper write the last events, because the domain has ended. The stream stays attached. */
void vcpu_track_end(struct vcpu_track *track, uint64_t now);
/* Detach the stream, and give up the slot. Do nothing if the track is off. */
void vcpu_track_detach(struct vcpu_track *track);
/* Poll the stream at once, if it is attached. */
void vcpu_track_poll_soon(struct vcpu_track *track, uint64_t now);

/* Act on the helper's ANSWER about a slot. */
void vcpu_slots_answer(struct host *host, const struct helper_answer *answer, uint64_t now);
/* Ask the helper again to end what it must end, if it had no room for the question or was silent. */
void vcpu_slots_pulse(struct host *host);
/* The helper is gone, or does not answer: end all tracks without it. */
void vcpu_slots_lost(struct host *host, uint64_t now);

#endif
