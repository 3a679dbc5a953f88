/* The names of the phases, counters and lifecycle events of OCaml 5's runtime. */
#ifndef TRACE_RUNTIME_NAMES_H
#define TRACE_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The tables of ids. Ids moved once, in OCaml 5.3. OxCaml has the phases of 5.3, and appended others than
 * OCaml did. No field of a ring file names its table.
 */
enum runtime_family {
	RUNTIME_FAMILY_UNKNOWN,
	RUNTIME_FAMILY_5_0,   /* OCaml 5.0 to 5.2 */
	RUNTIME_FAMILY_LATER, /* OCaml 5.3 and later, or OxCaml */
	RUNTIME_FAMILY_5_3,   /* OCaml 5.3 and later */
	RUNTIME_FAMILY_OXCAML,
};

/*
 * Each returns a name, or NULL for an unknown id, or for one that the tables of FAMILY name differently. Without
 * a family the phases are named as in OCaml 5.3.
 */
const char *runtime_phase_name(enum runtime_family family, uint16_t id);
const char *runtime_counter_name(enum runtime_family family, uint16_t id);
/* Return the enum mprof_counter_kind of the counter ID; MPROF_COUNTER_UNDECLARED where it has no name. */
uint8_t runtime_counter_kind(enum runtime_family family, uint16_t id);
const char *runtime_lifecycle_name(uint16_t id);
/* Return true if FAMILY does not tell which name the phase ID, or the counter ID, has. */
bool runtime_phase_is_unsure(enum runtime_family family, uint16_t id);
bool runtime_counter_is_unsure(enum runtime_family family, uint16_t id);

/* The items of one ring, in their order, as far as they tell tables apart. Zero it for each ring. */
struct runtime_evidence {
	bool any;     /* there was an item */
	bool phase;   /* the last item was the beginning of the phase ID */
	bool counter; /* the last item was the counter ID */
	uint16_t id;
	bool minor, empty; /* the phases 11 and 48 have begun and not ended */
};

/*
 * Take the next item of a ring: the beginning (BEGINS) or the end of a phase, a counter, or another item. Return the
 * table that it shows behind those before it; RUNTIME_FAMILY_UNKNOWN if several allow it.
 */
enum runtime_family runtime_evidence_phase(struct runtime_evidence *e, uint16_t id, bool begins);
enum runtime_family runtime_evidence_counter(struct runtime_evidence *e, uint16_t id);
enum runtime_family runtime_evidence_other(struct runtime_evidence *e);

#endif
