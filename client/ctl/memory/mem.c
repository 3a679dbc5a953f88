/* `mprofctl mem VERB`: run the verb, and the frame of the verbs that give one answer. */
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "mem.h"
#include "options.h"
#include "table.h"

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
	struct suggestion suggestion = {.word = argc > 1 ? argv[1] : NULL};

	if (argc < 2)
		return say_usage("mem", "mem needs a verb, as in `mprofctl mem identify FILE`");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0) {
			argv[1] = argv[0];
			return verbs[i].run(ctl, argc - 1, argv + 1);
		}
		suggestion_consider(&suggestion, verbs[i].name);
	}
	if (suggestion.best)
		return say_usage("mem", "there is no mem verb \"%s\"; did you mean %s?", argv[1], suggestion.best);
	return say_usage("mem", "there is no mem verb \"%s\"", argv[1]);
}

int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0};
	CLEANUP(json_decrefp) json_t *answer = NULL;
	struct mem_filter_options o = {0};
	const struct option_def defs[] = {MEM_FILTER_OPTIONS(o)};
	struct operands left;
	int r = options_parse(argc, argv, defs, ARRAY_SIZE(defs), &left, 1, 1), printed;

	r = r ? r : mem_filter_parse(&f, &o);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	answer = a->make(&l, !ctl->json, a);
	if (!answer)
		return say_memory();
	printed = ctl->json ? json_print(answer) : a->show(answer, a);
	return printed ? printed : r;
}
