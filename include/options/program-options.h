/* Take the options of a program. program-options.py makes the table from the program's help. */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define OPTION_VALUES_MAX 32u

struct option_value {
	const char *name;   /* without "--" */
	const char **value; /* at first the default; afterwards a word of the command line or the default */
	bool *flag;	    /* of an option without a value: set if the option is given; else NULL */
	size_t *count;	    /* of an option that may be given MOST times, with a value each: their number; else NULL */
	size_t most;
	bool is_directory; /* must not be empty */
	bool is_single;	   /* must not be given twice */
};

/* Other words of the command line than options. */
enum option_words {
	OPTIONS_ONLY,	      /* there may be none */
	OPTIONS_BEFORE_WORDS, /* the first ends the options */
	OPTIONS_AMONG_WORDS,  /* they may stand between options, and are moved behind them */
};

struct option_table {
	const char *program, *version, *help;
	enum option_words words;
	const struct option_value *values; /* N values, at most OPTION_VALUES_MAX; --help and --version are added */
	size_t n;
};

/*
 * Take the arguments of TABLE's program. Return -1 if it goes on, and optind is then the first word that is no
 * option. Else return its exit code: the help or the version was printed (0), or a sentence about a mistake (2).
 */
int options_take(const struct option_table *table, int argc, char **argv);

#endif
