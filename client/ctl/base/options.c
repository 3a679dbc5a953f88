/*
 * Parse the options of a verb. This replaces getopt_long(), which keeps state in global variables
 * and prints its own messages.
 */
#include <stdint.h>
#include <string.h>

#include "options.h"
#include "suggestion.h"

enum verb_number verb_find(const char *name, const char *behind)
{
	for (size_t i = VERB_NONE + 1; i < VERBS; i++) {
		const struct verb_row *row = &verb_rows[i];

		if (strcmp(row->name, name) == 0 &&
		    (behind ? row->behind && strcmp(row->behind, behind) == 0 : !row->behind))
			return (enum verb_number)i;
	}
	return VERB_NONE;
}

/*
 * Return the value of the option at ARGV[*AT], if that is the option ROW; if the value is the next
 * argument, move *AT to it. Return NULL for another option. If the option has no value, return NULL
 * and set *MISSING.
 */
static const char *value_at(const struct option_row *row, int argc, char **argv, int *at, bool *missing)
{
	const char *arg = argv[*at];
	size_t n = strlen(row->name);

	if (strncmp(arg, row->name, n) == 0 && arg[n] == '=')
		return arg + n + 1;
	if (strcmp(arg, row->name) != 0 && !(row->letter && strcmp(arg, row->letter) == 0)) {
		if (row->letter && strncmp(arg, row->letter, 2) == 0 && arg[2])
			return arg + 2;
		return NULL;
	}
	if (*at + 1 < argc && argv[*at + 1])
		return argv[++*at];
	*missing = true;
	return NULL;
}

void option_set(struct options *o, const struct option_row *row, const char *value)
{
	memcpy((char *)o + row->at, &value, sizeof(value));
}

int option_take(enum verb_number verb, const char *who, int argc, char **argv, int *at, struct options *o, bool *taken)
{
	const char *arg = argv[*at], *value;
	bool missing = false;

	for (size_t i = 0; i < verb_rows[verb].n_options && !*taken; i++) {
		const struct option_row *row = &verb_rows[verb].options[i];

		if (!row->value) {
			*taken = strcmp(arg, row->name) == 0;
			if (*taken)
				*(bool *)((char *)o + row->at) = true;
			continue;
		}
		value = value_at(row, argc, argv, at, &missing);
		if (missing)
			return say_usage(who, "%s%soption %s needs a value", who ? who : "", who ? ": " : "", arg);
		*taken = value != NULL;
		if (value)
			option_set(o, row, value);
	}
	return CTL_OK;
}

const char *option_value(const struct options *o, const struct option_row *row)
{
	const char *value;

	memcpy(&value, (const char *)o + row->at, sizeof(value));
	return value;
}

void options_hosts(const struct options *o, struct hosts *hosts)
{
	hosts->list = o->host ? o->host : hosts->list;
	hosts->ca = o->ca ? o->ca : hosts->ca;
	hosts->cert = o->cert ? o->cert : hosts->cert;
	hosts->key = o->key ? o->key : hosts->key;
	hosts->token = o->token ? o->token : hosts->token;
}

/* Consider the options of VERB. */
static void consider_options(struct suggestion *s, enum verb_number verb)
{
	for (size_t i = 0; i < verb_rows[verb].n_options; i++)
		suggestion_consider(s, verb_rows[verb].options[i].name);
}

/*
 * Report that the verb NUMBER has no option ARG. If an option of the verb or of mprofctl is similar,
 * suggest it. Return CTL_USAGE.
 */
static int no_option(enum verb_number number, const char *arg)
{
	struct suggestion suggestion = {.word = arg};
	const char *verb = verb_rows[number].name;

	consider_options(&suggestion, number);
	consider_options(&suggestion, VERB_NONE);
	if (suggestion.best)
		return say_usage(verb, "%s: there is no option %s; did you mean %s?", verb, arg, suggestion.best);
	if (arg[1] >= '0' && arg[1] <= '9')
		return say_usage(verb, "%s: there is no option %s; if it is a number, write -- before it", verb, arg);
	return say_usage(verb, "%s: there is no option %s", verb, arg);
}

int say_no_verb(const char *word)
{
	const char *what = word[0] == '-' ? "option" : "verb";
	struct suggestion suggestion = {.word = word};

	for (size_t i = VERB_NONE + 1; i < VERBS; i++)
		suggestion_consider(&suggestion, verb_rows[i].name);
	consider_options(&suggestion, VERB_NONE);
	if (suggestion.best)
		return say_usage(NULL, "there is no %s \"%s\"; did you mean %s?", what, word, suggestion.best);
	return say_usage(NULL, "there is no %s \"%s\"", what, word);
}

int options_parse(const struct ctl *ctl, int argc, char **argv, struct options *o, struct operands *left)
{
	const struct verb_row *verb = &verb_rows[ctl->verb];
	bool options = true, taken;
	int r;

	*left = (struct operands){0};
	*o = (struct options){0};
	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			taken = false;
			r = option_take(ctl->verb, verb->name, argc, argv, &i, o, &taken);
			if (r || !taken)
				return r ? r : no_option(ctl->verb, argv[i]);
		} else if (left->n == verb->most) {
			return say_usage(verb->name, "%s: \"%s\" is one argument too many", verb->name, argv[i]);
		} else {
			left->at[left->n++] = argv[i];
		}
	}
	if (left->n < verb->least)
		return say_usage(verb->name, "%s: an argument is missing", verb->name);
	return CTL_OK;
}
