/* Take the options of a program by getopt_long(), which prints its own sentence about an unknown option. */
#include "program-options.h"

#include <getopt.h>
#include <stdio.h>

/* Print that the option V, which takes a value, has too many. Return the exit code. */
static int too_many(const struct option_table *t, const struct option_value *v)
{
	if (v->is_single)
		fprintf(stderr, "%s: --%s %s: --%s was given before; give it once\n", t->program, v->name, optarg,
			v->name);
	else
		fprintf(stderr, "%s: --%s %s: --%s was given %zu times, and it may not be given more often\n",
			t->program, v->name, optarg, v->name, v->most);
	return 2;
}

/* Store the option V, which was GIVEN before or not. Return -1, or the exit code. */
static int store(const struct option_table *t, const struct option_value *v, bool given)
{
	if ((v->is_single && given) || (v->count && *v->count == v->most))
		return too_many(t, v);
	if (v->flag)
		*v->flag = true;
	else if (v->count)
		v->value[(*v->count)++] = optarg;
	else
		*v->value = optarg;
	return -1;
}

/* All options are taken: check what they say. Return as options_take(). */
static int check(const struct option_table *t, int argc, char **argv)
{
	if (t->words == OPTIONS_ONLY && optind != argc) {
		fprintf(stderr, "%s: %s: it takes options only; see %s --help\n", t->program, argv[optind], t->program);
		return 2;
	}
	for (size_t i = 0; i < t->n; i++) {
		const char *value = t->values[i].is_directory ? *t->values[i].value : NULL;

		if (value && !*value) {
			fprintf(stderr,
				"%s: --%s is empty: write a directory, or leave the option out for the default\n",
				t->program, t->values[i].name);
			return 2;
		}
	}
	return -1;
}

int options_take(const struct option_table *t, int argc, char **argv)
{
	enum { VALUE = 1, HELP = VALUE + OPTION_VALUES_MAX, VERSION_CODE };
	struct option options[OPTION_VALUES_MAX + 3] = {{0}};
	bool given[OPTION_VALUES_MAX] = {false};
	int code, r;

	for (size_t i = 0; i < t->n; i++)
		options[i] = (struct option){t->values[i].name, t->values[i].flag ? no_argument : required_argument,
					     NULL, VALUE + (int)i};
	options[t->n] = (struct option){"help", no_argument, NULL, HELP};
	options[t->n + 1] = (struct option){"version", no_argument, NULL, VERSION_CODE};
	while ((code = getopt_long(argc, argv, t->words == OPTIONS_BEFORE_WORDS ? "+h" : "h", options, NULL)) != -1) {
		switch (code) {
		case 'h':
		case HELP:
			fputs(t->help, stdout);
			return 0;
		case VERSION_CODE:
			printf("%s %s\n", t->program, t->version);
			return 0;
		case '?':
			fprintf(stderr, "%s: see %s --help\n", t->program, t->program);
			return 2;
		default:
			r = store(t, &t->values[code - VALUE], given[code - VALUE]);
			if (r >= 0)
				return r;
			given[code - VALUE] = true;
		}
	}
	return check(t, argc, argv);
}
