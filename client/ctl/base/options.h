/* The options of mprofctl and its verbs, as mprofctl.options tells them, and what takes them from the command line. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl.h"
#include "mprofctl-options.h"

/* Things that an operand, or the value of an option, can name. A sum of these is in a row of a table. */
enum operand_kind { OPERAND_FILE = 1, OPERAND_DOMAIN = 2, OPERAND_CAPTURE = 4 };

struct option_row {
	const char *name;   /* long name, such as "--last" */
	const char *letter; /* short name, such as "-o", or NULL */
	const char *value;  /* the name of its value; NULL of a flag */
	const char *what;   /* description; the first line of the help */
	const char *words;  /* values to choose from, with `|` between; or NULL */
	const char *of;	    /* the only format of `export` that has the option; or NULL */
	size_t at;	    /* its place in struct options */
	unsigned int kinds; /* things that its value can name */
	bool is_list;	    /* its value is a list with commas */
};

struct operand_row {
	unsigned int kinds;
	const char *words; /* values to choose from, with `|` between */
	bool repeats;	   /* all later operands are of this kind, too */
};

/* A verb, or a verb behind another one. */
struct verb_row {
	const char *name;
	const char *behind; /* "dump" of `mem dump`; else NULL */
	const char *what;   /* description; the first line of the help */
	const char *help;
	bool has_verbs; /* verbs are behind it */
	const struct option_row *options;
	size_t n_options;
	const struct operand_row *operands;
	size_t n_operands;
	size_t least, most; /* least and most numbers of operands */
};

/* The rows of all verbs. VERB_NONE has the options of every verb. */
extern const struct verb_row verb_rows[VERBS];

/* Return the number of the verb NAME, or of the verb BEHIND it. BEHIND may be NULL. Return VERB_NONE if there is none. */
enum verb_number verb_find(const char *name, const char *behind);

#define OPERANDS_MAX 64

struct operands {
	const char *at[OPERANDS_MAX];
	size_t n;
};

/*
 * Parse ARGV of the verb CTL->verb into O and LEFT. An option is a flag or takes a value ("--name VALUE",
 * "--name=VALUE", "-o VALUE"). The other arguments are operands, as many as the verb takes. "--" ends the
 * options, and "-" is an operand. Return an exit code.
 */
int options_parse(const struct ctl *ctl, int argc, char **argv, struct options *o, struct operands *left);
/*
 * If ARGV[*AT] is an option of VERB, take it into O, move *AT to its last argument, and set *TAKEN. WHO begins
 * the message about a missing value. Return an exit code.
 */
int option_take(enum verb_number verb, const char *who, int argc, char **argv, int *at, struct options *o, bool *taken);
/* Return the value of the option ROW in O; NULL if it was not given. ROW is no flag. */
const char *option_value(const struct options *o, const struct option_row *row);
/* Set the value of the option ROW, which is no flag, in O. */
void option_set(struct options *o, const struct option_row *row, const char *value);
/* Set what O has in HOSTS, which are the daemons of the environment. */
void options_hosts(const struct options *o, struct hosts *hosts);
/* Report that the program has no verb, or no option, WORD. Return CTL_USAGE. */
int say_no_verb(const char *word);

#endif
