/*
 * The tables of names. Later versions of OCaml only append names, but 5.3 has also inserted four phases, and
 * OxCaml has appended others. schema/runtime-events.md names the sources.
 */
#include <stddef.h>

#include <mprof/ids.h>

#include "array.h"
#include "runtime-names.h"

static const char *const phases[] = {
	"explicit_gc_set",
	"explicit_gc_stat",
	"explicit_gc_minor",
	"explicit_gc_major",
	"explicit_gc_full_major",
	"explicit_gc_compact",
	"major",
	"major_sweep",
	"major_mark_roots",
	"major_memprof_roots",
	"major_mark",
	"minor",
	"minor_local_roots",
	"minor_memprof_roots",
	"minor_memprof_clean",
	"minor_finalized",
	"explicit_gc_major_slice",
	"finalise_update_first",
	"finalise_update_last",
	"interrupt_remote",
	"major_ephe_mark",
	"major_ephe_sweep",
	"major_finish_marking",
	"major_gc_cycle_domains",
	"major_gc_phase_change",
	"major_gc_stw",
	"major_mark_opportunistic",
	"major_slice",
	"major_finish_cycle",
	"minor_clear",
	"minor_finalizers_oldify",
	"minor_global_roots",
	"minor_leave_barrier",
	"stw_api_barrier",
	"stw_handler",
	"stw_leader",
	"major_finish_sweeping",
	"major_memprof_clean",
	"minor_finalizers_admin",
	"minor_remembered_set",
	"minor_remembered_set_promote",
	"minor_local_roots_promote",
	"domain_condition_wait",
	"domain_resize_heap_reservation",
	"compaction",
	"compaction_evacuate",
	"compaction_forward",
	"compaction_release",
	"empty_minor",
	"minor_ephe_clean",
};

/* The phases that OCaml 5.3 has inserted, by their ids there, and the number of phases before it. */
static const uint16_t inserted[] = {9, 13, 14, 37};
#define PHASES_5_0    44u
#define PHASES_COMMON 48u /* phases that OCaml 5.3 and OxCaml both have */

/* The phases of OxCaml from PHASES_COMMON on. */
static const char *const oxcaml_phases[] = {
	"minor_ephe_clean",
	"minor_dependent",
};

/*
 * A counter and its kind, as the runtime means it: `major_heap_*` and the slice's target and budget are levels,
 * `force_*` and `request_*` count events, `major_work_counter` and `major_alloc_counter` go on since the program
 * began, and all others are amounts since the last collection or slice.
 */
struct counter {
	const char *name;
	uint8_t kind; /* enum mprof_counter_kind */
};

static const struct counter counters[] = {
	{"force_minor_alloc_small", MPROF_COUNTER_TOTAL},
	{"force_minor_make_vect", MPROF_COUNTER_TOTAL},
	{"force_minor_set_minor_heap_size", MPROF_COUNTER_TOTAL},
	{"force_minor_memprof", MPROF_COUNTER_TOTAL},
	{"minor_promoted", MPROF_COUNTER_AMOUNT},
	{"minor_allocated", MPROF_COUNTER_AMOUNT},
	{"request_major_alloc_shr", MPROF_COUNTER_TOTAL},
	{"request_major_adjust_gc_speed", MPROF_COUNTER_TOTAL},
	{"request_minor_realloc_ref_table", MPROF_COUNTER_TOTAL},
	{"request_minor_realloc_ephe_ref_table", MPROF_COUNTER_TOTAL},
	{"request_minor_realloc_custom_table", MPROF_COUNTER_TOTAL},
	{"major_heap_pool_words", MPROF_COUNTER_GAUGE},
	{"major_heap_pool_live_words", MPROF_COUNTER_GAUGE},
	{"major_heap_large_words", MPROF_COUNTER_GAUGE},
	{"major_heap_pool_frag_words", MPROF_COUNTER_GAUGE},
	{"major_heap_pool_live_blocks", MPROF_COUNTER_GAUGE},
	{"major_heap_large_blocks", MPROF_COUNTER_GAUGE},
	{"major_heap_words", MPROF_COUNTER_GAUGE},
	{"major_allocated_words", MPROF_COUNTER_AMOUNT},
	{"major_allocated_work", MPROF_COUNTER_AMOUNT},
	{"major_dependent_work", MPROF_COUNTER_AMOUNT},
	{"major_extra_work", MPROF_COUNTER_AMOUNT},
	{"major_work_counter", MPROF_COUNTER_TOTAL},
	{"major_alloc_counter", MPROF_COUNTER_TOTAL},
	{"major_slice_target", MPROF_COUNTER_GAUGE},
	{"major_slice_budget", MPROF_COUNTER_GAUGE},
	{"minor_allocated_words", MPROF_COUNTER_AMOUNT},
	{"minor_promoted_words", MPROF_COUNTER_AMOUNT},
};

#define COUNTERS_COMMON 17u /* counters that all tables have */

/* The counters of OxCaml from COUNTERS_COMMON on. */
static const struct counter oxcaml_counters[] = {
	{"request_minor_realloc_dependent_table", MPROF_COUNTER_TOTAL},
	{"major_slice_alloc_words", MPROF_COUNTER_AMOUNT},
	{"major_slice_alloc_dependent_words", MPROF_COUNTER_AMOUNT},
	{"major_slice_new_work", MPROF_COUNTER_AMOUNT},
	{"major_slice_total_work", MPROF_COUNTER_GAUGE},
	{"major_slice_budget", MPROF_COUNTER_GAUGE},
	{"major_slice_work_done", MPROF_COUNTER_AMOUNT},
};

static const char *const lifecycles[] = {
	"ring_start",  "ring_stop",  "ring_pause",   "ring_resume",
	"fork_parent", "fork_child", "domain_spawn", "domain_terminate",
};

bool runtime_phase_is_unsure(enum runtime_family family, uint16_t id)
{
	if (family == RUNTIME_FAMILY_LATER)
		return id >= PHASES_COMMON && id < ARRAY_SIZE(phases);
	return family == RUNTIME_FAMILY_UNKNOWN && id >= inserted[0];
}

bool runtime_counter_is_unsure(enum runtime_family family, uint16_t id)
{
	return (family == RUNTIME_FAMILY_LATER || family == RUNTIME_FAMILY_UNKNOWN) && id >= COUNTERS_COMMON;
}

const char *runtime_phase_name(enum runtime_family family, uint16_t id)
{
	if (family == RUNTIME_FAMILY_OXCAML && id >= PHASES_COMMON)
		return id - PHASES_COMMON < ARRAY_SIZE(oxcaml_phases) ? oxcaml_phases[id - PHASES_COMMON] : NULL;
	if (family == RUNTIME_FAMILY_LATER && id >= PHASES_COMMON)
		return NULL;
	if (family == RUNTIME_FAMILY_5_0) {
		if (id >= PHASES_5_0)
			return NULL;
		for (size_t i = 0; i < ARRAY_SIZE(inserted); i++)
			id = (uint16_t)(id + (id >= inserted[i]));
	}
	return id < ARRAY_SIZE(phases) ? phases[id] : NULL;
}

/* Return the counter ID, or NULL where it has no name. */
static const struct counter *counter_of(enum runtime_family family, uint16_t id)
{
	if (id < COUNTERS_COMMON)
		return &counters[id];
	if (family == RUNTIME_FAMILY_OXCAML)
		return id - COUNTERS_COMMON < ARRAY_SIZE(oxcaml_counters) ? &oxcaml_counters[id - COUNTERS_COMMON]
									  : NULL;
	return family == RUNTIME_FAMILY_5_3 && id < ARRAY_SIZE(counters) ? &counters[id] : NULL;
}

const char *runtime_counter_name(enum runtime_family family, uint16_t id)
{
	const struct counter *c = counter_of(family, id);

	return c ? c->name : NULL;
}

uint8_t runtime_counter_kind(enum runtime_family family, uint16_t id)
{
	const struct counter *c = counter_of(family, id);

	return c ? c->kind : MPROF_COUNTER_UNDECLARED;
}

const char *runtime_lifecycle_name(uint16_t id)
{
	return id < ARRAY_SIZE(lifecycles) ? lifecycles[id] : NULL;
}

/* ---- which table */

#define MINOR_5_0	 10u
#define MINOR		 11u
#define GLOBAL_ROOTS_5_0 28u
#define GLOBAL_ROOTS	 31u
/* Phase 48 is `empty_minor` in OCaml: it contains `minor`. OxCaml's `minor_ephe_clean` is inside of `minor`. */
#define EMPTY_OR_EPHE 48u
/*
 * OCaml writes the counters 17 to 25 one directly behind the other in each major slice. OxCaml's 17 stands alone,
 * 23 comes directly behind the end of the slice, and there is no counter from 24 on.
 */
#define RUN_FIRST    17u
#define WORK_DONE    23u
#define OXCAML_FIRST 24u /* the first counter that OxCaml does not have */

/* The last item of E is followed by another one than the counter ID. Return the table that shows in that. */
static enum runtime_family break_run(const struct runtime_evidence *e, uint16_t id)
{
	return e->counter && e->id == RUN_FIRST && id != RUN_FIRST + 1 ? RUNTIME_FAMILY_OXCAML : RUNTIME_FAMILY_UNKNOWN;
}

/* Return the table that shows in the beginning of the phase ID behind the items of E. */
static enum runtime_family begin_phase(const struct runtime_evidence *e, uint16_t id)
{
	/*
	 * A minor collection begins with its roots: the phases `minor` and `minor_global_roots` are 10 and 28
	 * before OCaml 5.3, and 11 and 31 since. In the other versions the same ids are two phases of which
	 * none contains the other.
	 */
	if (e->phase && e->id == MINOR_5_0 && id == GLOBAL_ROOTS_5_0)
		return RUNTIME_FAMILY_5_0;
	if (id == EMPTY_OR_EPHE && e->minor)
		return RUNTIME_FAMILY_OXCAML;
	if (id == MINOR && e->empty)
		return RUNTIME_FAMILY_5_3;
	if ((e->phase && e->id == MINOR && id == GLOBAL_ROOTS) || id >= PHASES_5_0)
		return RUNTIME_FAMILY_LATER;
	return RUNTIME_FAMILY_UNKNOWN;
}

enum runtime_family runtime_evidence_phase(struct runtime_evidence *e, uint16_t id, bool begins)
{
	enum runtime_family family = break_run(e, 0);

	if (begins && family == RUNTIME_FAMILY_UNKNOWN)
		family = begin_phase(e, id);
	e->minor = id == MINOR ? begins : e->minor;
	e->empty = id == EMPTY_OR_EPHE ? begins : e->empty;
	e->any = true;
	e->phase = begins;
	e->counter = false;
	e->id = id;
	return family;
}

enum runtime_family runtime_evidence_counter(struct runtime_evidence *e, uint16_t id)
{
	enum runtime_family family = break_run(e, id);

	if (id == WORK_DONE && e->any && !(e->counter && e->id == WORK_DONE - 1))
		family = RUNTIME_FAMILY_OXCAML;
	else if (id >= OXCAML_FIRST)
		family = RUNTIME_FAMILY_5_3;
	else if (family == RUNTIME_FAMILY_UNKNOWN && id >= RUN_FIRST)
		family = RUNTIME_FAMILY_LATER;
	e->any = e->counter = true;
	e->phase = false;
	e->id = id;
	return family;
}

enum runtime_family runtime_evidence_other(struct runtime_evidence *e)
{
	enum runtime_family family = break_run(e, 0);

	e->any = true;
	e->phase = e->counter = false;
	return family;
}
