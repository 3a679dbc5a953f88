/* Parse the command line after the verb: options and operands. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_def {
	const char *name;   /* long name, such as "--last" */
	const char *letter; /* short name, such as "-o", or NULL */
	const char **value;
	/* For an option without a value: set to true if the option is given. VALUE is then NULL. */
	bool *flag;
};

/* The option for the zone Z, a struct wall_zone, in a list of option_def. */
#define OPTION_UTC(z) {"--utc", NULL, NULL, &(z).utc}

/* The names of the options of every verb, in the order of the alphabet. NULL is behind the last. */
extern const char *const common_options[];

#define OPERANDS_MAX 64

struct operands {
	const char *at[OPERANDS_MAX];
	size_t n;
};

/*
 * Parse ARGV of a verb by the N_DEFS options DEFS. An option is a flag or takes a value ("--name
 * VALUE", "--name=VALUE", "-o VALUE"). The other arguments are operands, stored in LEFT: at least
 * MIN and at most MAX (up to OPERANDS_MAX). "--" ends the options, and "-" is an operand. Return an
 * exit code.
 */
int options_parse(int argc, char **argv, const struct option_def *defs, size_t n_defs, struct operands *left,
		  size_t min, size_t max);

#endif
