/*
 * The tables of names. Later versions of OCaml only append names, but 5.3 has also inserted four phases.
 * schema/runtime-events.md names the sources.
 */
#include "runtime-names.h"
#include "array.h"

#include <stddef.h>

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
#define PHASES_5_0 44u

static const char *const counters[] = {
	"force_minor_alloc_small",
	"force_minor_make_vect",
	"force_minor_set_minor_heap_size",
	"force_minor_memprof",
	"minor_promoted",
	"minor_allocated",
	"request_major_alloc_shr",
	"request_major_adjust_gc_speed",
	"request_minor_realloc_ref_table",
	"request_minor_realloc_ephe_ref_table",
	"request_minor_realloc_custom_table",
	"major_heap_pool_words",
	"major_heap_pool_live_words",
	"major_heap_large_words",
	"major_heap_pool_frag_words",
	"major_heap_pool_live_blocks",
	"major_heap_large_blocks",
	"major_heap_words",
	"major_allocated_words",
	"major_allocated_work",
	"major_dependent_work",
	"major_extra_work",
	"major_work_counter",
	"major_alloc_counter",
	"major_slice_target",
	"major_slice_budget",
	"minor_allocated_words",
	"minor_promoted_words",
};

static const char *const lifecycles[] = {
	"ring_start",  "ring_stop",  "ring_pause",   "ring_resume",
	"fork_parent", "fork_child", "domain_spawn", "domain_terminate",
};

const char *runtime_phase_name(enum runtime_family family, uint16_t id)
{
	if (family == RUNTIME_FAMILY_5_0) {
		if (id >= PHASES_5_0)
			return NULL;
		for (size_t i = 0; i < ARRAY_SIZE(inserted); i++)
			id = (uint16_t)(id + (id >= inserted[i]));
	}
	return id < ARRAY_SIZE(phases) ? phases[id] : NULL;
}

const char *runtime_counter_name(uint16_t id)
{
	return id < ARRAY_SIZE(counters) ? counters[id] : NULL;
}

const char *runtime_lifecycle_name(uint16_t id)
{
	return id < ARRAY_SIZE(lifecycles) ? lifecycles[id] : NULL;
}

/*
 * A minor collection begins with its roots: the phases `minor` and `minor_global_roots` are 10 and 28
 * before OCaml 5.3, and 11 and 31 since. In the other versions the same ids are two phases of which
 * none contains the other.
 */
enum runtime_family runtime_family_of_pair(uint16_t before, uint16_t id)
{
	if (before == 10 && id == 28)
		return RUNTIME_FAMILY_5_0;
	if (before == 11 && id == 31)
		return RUNTIME_FAMILY_5_3;
	return RUNTIME_FAMILY_UNKNOWN;
}

enum runtime_family runtime_family_of_phase(uint16_t id)
{
	return id >= PHASES_5_0 ? RUNTIME_FAMILY_5_3 : RUNTIME_FAMILY_UNKNOWN;
}

/* OCaml 5.3 appended the counters from 17 on, and writes nine of them in each major slice. */
enum runtime_family runtime_family_of_counter(uint16_t id)
{
	return id > 16 ? RUNTIME_FAMILY_5_3 : RUNTIME_FAMILY_UNKNOWN;
}
