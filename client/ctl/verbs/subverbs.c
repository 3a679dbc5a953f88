/* Find a verb behind a verb, or say which one was perhaps meant. */
#include <string.h>

#include "subverbs.h"
#include "suggestion.h"
#include "token-file.h"

int subverbs_run(const struct ctl *ctl, const char *verb, const char *hint, const struct subverb *list, size_t n,
		 int argc, char **argv)
{
	struct suggestion suggestion = {.word = argc > 1 ? argv[1] : NULL};

	if (argc < 2)
		return say_usage(verb, "%s needs a verb%s", verb, hint);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(argv[1], list[i].name) == 0) {
			argv[1] = argv[0];
			return list[i].run(ctl, argc - 1, argv + 1);
		}
		suggestion_consider(&suggestion, list[i].name);
	}
	if (suggestion.best)
		return say_usage(verb, "there is no %s verb \"%s\"; did you mean %s?", verb, argv[1], suggestion.best);
	return say_usage(verb, "there is no %s verb \"%s\"", verb, token_in(argv[1]) ? "mprof_…" : argv[1]);
}
