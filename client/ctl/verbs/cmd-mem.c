/* `mprofctl mem VERB`: run the verb. */
#include "array.h"
#include "mem.h"
#include "subverbs.h"
#include "verbs.h"

static const struct subverb verbs[] = {
	{"dump", mem_dump},	      {"identify", mem_identify}, {"hotspots", mem_hotspots}, {"peak", mem_peak},
	{"timeline", mem_timeline},   {"flame", mem_flame},	  {"leaks", mem_leaks},	      {"diff", mem_diff},
	{"subsample", mem_subsample}, {"export", mem_export},	  {"list", mem_list},	      {"start", mem_start},
	{"stop", mem_stop},
};

int cmd_mem(const struct ctl *ctl, int argc, char **argv)
{
	return subverbs_run(ctl, "mem", ", as in `mprofctl mem identify FILE`", verbs, ARRAY_SIZE(verbs), argc, argv);
}
