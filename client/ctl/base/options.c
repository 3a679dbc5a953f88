/*
 * Parse the options of a verb. This replaces getopt_long(), which keeps state in global variables
 * and prints its own messages.
 */
#include <stdint.h>
#include <string.h>

#include "ctl.h"
#include "options.h"
#include "suggestion.h"

const char *const common_options[] = {"--ca",  "--cert",  "--help",    "--host", "--json",
				      "--key", "--token", "--version", NULL};

/*
 * Return the value of the option at ARGV[*AT], if that is the option DEF; if the value is the next
 * argument, move *AT to it. Return NULL for another option. If the option has no value, return NULL
 * and set *MISSING.
 */
static const char *option_value(const struct option_def *def, int argc, char **argv, int *at, bool *missing)
{
	const char *arg = argv[*at];
	size_t n = strlen(def->name);

	if (strncmp(arg, def->name, n) == 0 && arg[n] == '=')
		return arg + n + 1;
	if (strcmp(arg, def->name) != 0 && !(def->letter && strcmp(arg, def->letter) == 0)) {
		if (def->letter && strncmp(arg, def->letter, 2) == 0 && arg[2])
			return arg + 2;
		return NULL;
	}
	if (*at + 1 < argc && argv[*at + 1])
		return argv[++*at];
	*missing = true;
	return NULL;
}

/*
 * Report that VERB has no option ARG. If an option of the verb or of mprofctl is similar, suggest
 * it. Return CTL_USAGE.
 */
static int no_option(const char *verb, const char *arg, const struct option_def *defs, size_t n_defs)
{
	struct suggestion suggestion = {.word = arg};

	for (size_t i = 0; i < n_defs; i++)
		suggestion_consider(&suggestion, defs[i].name);
	for (size_t i = 0; common_options[i]; i++)
		suggestion_consider(&suggestion, common_options[i]);
	if (suggestion.best)
		return say_usage(verb, "%s: there is no option %s; did you mean %s?", verb, arg, suggestion.best);
	if (arg[1] >= '0' && arg[1] <= '9')
		return say_usage(verb, "%s: there is no option %s; if it is a number, write -- before it", verb, arg);
	return say_usage(verb, "%s: there is no option %s", verb, arg);
}

static int take_option(int argc, char **argv, int *at, const struct option_def *defs, size_t n_defs)
{
	const char *arg = argv[*at];
	bool missing = false;

	for (size_t i = 0; i < n_defs; i++) {
		const char *value;

		if (defs[i].flag) {
			if (strcmp(arg, defs[i].name) != 0)
				continue;
			*defs[i].flag = true;
			return CTL_OK;
		}
		value = option_value(&defs[i], argc, argv, at, &missing);
		if (missing)
			return say_usage(argv[0], "%s: option %s needs a value", argv[0], arg);
		if (!value)
			continue;
		*defs[i].value = value;
		return CTL_OK;
	}
	return no_option(argv[0], arg, defs, n_defs);
}

int options_parse(int argc, char **argv, const struct option_def *defs, size_t n_defs, struct operands *left,
		  size_t min, size_t max)
{
	bool options = true;
	int r;

	*left = (struct operands){0};
	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			r = take_option(argc, argv, &i, defs, n_defs);
			if (r)
				return r;
		} else if (left->n == max) {
			return say_usage(argv[0], "%s: \"%s\" is one argument too many", argv[0], argv[i]);
		} else {
			left->at[left->n++] = argv[i];
		}
	}
	if (left->n < min)
		return say_usage(argv[0], "%s: an argument is missing", argv[0]);
	return CTL_OK;
}
