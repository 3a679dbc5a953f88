/* `mprofctl mem VERB`: memory profiles. */
#include <string.h>

#include "mem.h"
#include "near.h"

static const struct {
	const char *name;
	int (*run)(const struct ctl *ctl, int argc, char **argv);
} verbs[] = {
	{"dump", mem_dump},	      {"identify", mem_identify}, {"hotspots", mem_hotspots}, {"peak", mem_peak},
	{"timeline", mem_timeline},   {"flame", mem_flame},	  {"leaks", mem_leaks},	      {"diff", mem_diff},
	{"subsample", mem_subsample}, {"export", mem_export},	  {"list", mem_list},	      {"start", mem_start},
	{"stop", mem_stop},
};

int cmd_mem(const struct ctl *ctl, int argc, char **argv)
{
	struct near near = {.word = argc > 1 ? argv[1] : NULL};

	if (argc < 2)
		return say_usage(
			"mem",
			"what is to be done with the memory profile is missing, as in `mprofctl mem identify FILE`");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0) {
			argv[1] = argv[0];
			return verbs[i].run(ctl, argc - 1, argv + 1);
		}
		near_offer(&near, verbs[i].name);
	}
	if (near.best)
		return say_usage("mem", "there is no mem \"%s\"; did you mean %s?", argv[1], near.best);
	return say_usage("mem", "there is no mem \"%s\"", argv[1]);
}
