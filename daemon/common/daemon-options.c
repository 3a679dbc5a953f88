#include "daemon-options.h"

#include <getopt.h>
#include <stdio.h>

bool option_directory(const char *program, const char *option, const char *value)
{
	if (*value)
		return true;
	fprintf(stderr, "%s: %s is empty: write a directory, or leave the option out for the default\n", program,
		option);
	return false;
}

/* All options are taken: check what they say. Return as options_take(). */
static int check(const char *program, const struct option_value *values, unsigned n, int argc, char **argv)
{
	char name[32];

	if (optind != argc) {
		fprintf(stderr, "%s: %s: it takes options only; see %s --help\n", program, argv[optind], program);
		return 2;
	}
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "--%s", values[i].name);
		if (values[i].is_directory && !option_directory(program, name, *values[i].value))
			return 2;
	}
	return -1;
}

int options_take(const char *program, const char *version, const char *help, const struct option_value *values,
		 unsigned n, int argc, char **argv)
{
	enum { VALUE = 1, HELP = VALUE + OPTION_VALUES_MAX, VERSION };
	struct option options[OPTION_VALUES_MAX + 3] = {{0}};
	int code;

	for (unsigned i = 0; i < n; i++)
		options[i] = (struct option){values[i].name, required_argument, NULL, VALUE + (int)i};
	options[n] = (struct option){"help", no_argument, NULL, HELP};
	options[n + 1] = (struct option){"version", no_argument, NULL, VERSION};
	while ((code = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (code) {
		case HELP:
			fputs(help, stdout);
			return 0;
		case VERSION:
			printf("%s %s\n", program, version);
			return 0;
		case '?':
			fprintf(stderr, "%s: see %s --help\n", program, program);
			return 2;
		default:
			*values[code - VALUE].value = optarg;
		}
	}
	return check(program, values, n, argc, argv);
}
