/* The names of the phases, counters and lifecycle events of OCaml 5's runtime. */
#ifndef TRACE_RUNTIME_NAMES_H
#define TRACE_RUNTIME_NAMES_H

#include <stdint.h>

/* The tables of phases: ids moved once, in OCaml 5.3. No field of a ring file names its table. */
enum runtime_family {
	RUNTIME_FAMILY_UNKNOWN,
	RUNTIME_FAMILY_5_0, /* OCaml 5.0 to 5.2 */
	RUNTIME_FAMILY_5_3, /* OCaml 5.3 and later */
};

/* Each returns a name, or NULL for an unknown id. */
const char *runtime_phase_name(enum runtime_family family, uint16_t id);
const char *runtime_counter_name(uint16_t id);
const char *runtime_lifecycle_name(uint16_t id);

/*
 * Return the table that shows in a `begin` of the phase BEFORE followed at once by a `begin` of the
 * phase ID, in one ring; RUNTIME_FAMILY_UNKNOWN if both tables allow this.
 */
enum runtime_family runtime_family_of_pair(uint16_t before, uint16_t id);
/* As runtime_family_of_pair(), for one phase. */
enum runtime_family runtime_family_of_phase(uint16_t id);
/* Return the table that shows in a counter ID. */
enum runtime_family runtime_family_of_counter(uint16_t id);

#endif
