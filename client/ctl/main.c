/* mprofctl: take the options that all verbs have, then run the verb. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "ctl.h"
#include "exporter.h"
#include "mem.h"
#include "options.h"
#include "stdio-proxy.h"
#include "suggestion.h"
#include "table.h"
#include "token-file.h"
#include "verbs.h"

/* One per line. */
/* clang-format off */
static int (*const verbs[VERBS])(const struct ctl *ctl, int argc, char **argv) = {
	[VERB_DOMAINS] = cmd_domains,
	[VERB_CAPTURES] = cmd_captures,
	[VERB_SHOW] = cmd_show,
	[VERB_FETCH] = cmd_fetch,
	[VERB_SNAPSHOT] = cmd_snapshot,
	[VERB_FOLLOW] = cmd_follow,
	[VERB_DUMP] = cmd_dump,
	[VERB_STATS] = cmd_stats,
	[VERB_THREADS] = cmd_threads,
	[VERB_WHY] = cmd_why,
	[VERB_DIFF] = cmd_diff,
	[VERB_SQL] = cmd_sql,
	[VERB_EXPORT] = cmd_export,
	[VERB_BUNDLE] = cmd_bundle,
	[VERB_VIEW] = cmd_view,
	[VERB_MEM_DUMP] = mem_dump,
	[VERB_MEM_IDENTIFY] = mem_identify,
	[VERB_MEM_HOTSPOTS] = mem_hotspots,
	[VERB_MEM_FLAME] = mem_flame,
	[VERB_MEM_PEAK] = mem_peak,
	[VERB_MEM_LEAKS] = mem_leaks,
	[VERB_MEM_TIMELINE] = mem_timeline,
	[VERB_MEM_DIFF] = mem_diff,
	[VERB_MEM_SUBSAMPLE] = mem_subsample,
	[VERB_MEM_EXPORT] = mem_export,
	[VERB_MEM_LIST] = mem_list,
	[VERB_MEM_START] = mem_start,
	[VERB_MEM_STOP] = mem_stop,
	[VERB_TOKEN_NEW] = token_new,
	[VERB_TOKEN_LIST] = token_list,
	[VERB_TOKEN_REVOKE] = token_revoke,
	[VERB_HOSTS] = cmd_hosts,
	[VERB_FLEET] = cmd_fleet,
};
/* clang-format on */

/* The parsed command line. */
struct line {
	struct ctl ctl;
	struct options options; /* the options of every verb */
	int argc;
	char **argv; /* the verb and its arguments; they stay in the ARGV of main() */
};

/* Report an option of O that must not be empty, and is. Return an exit code. */
static int check_empty(const struct options *o)
{
	const struct verb_row *all = &verb_rows[VERB_NONE];

	for (size_t i = 0; i < all->n_options; i++) {
		const char *value = all->options[i].value ? option_value(o, &all->options[i]) : NULL;

		if (value && !*value)
			return say_usage(NULL, "option %s is empty", all->options[i].name);
	}
	return CTL_OK;
}

/*
 * Take the options of every verb out of ARGV into LINE, up to an argument "--". LINE->argv gets the
 * other arguments. Return an exit code.
 */
static int take_common(struct line *line, int argc, char **argv)
{
	int i, r;

	line->argv = argv;
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool taken = strcmp(argv[i], "-h") == 0;

		line->options.help |= taken;
		r = taken ? CTL_OK : option_take(VERB_NONE, NULL, argc, argv, &i, &line->options, &taken);
		if (r)
			return r;
		if (!taken)
			argv[line->argc++] = argv[i];
	}
	for (; i < argc; i++)
		argv[line->argc++] = argv[i];
	options_hosts(&line->options, &line->ctl.hosts);
	line->ctl.json = line->options.json;
	return check_empty(&line->options);
}

/* Print the help of VERB, or of the program if VERB is VERB_NONE. */
static void print_help(enum verb_number verb)
{
	const struct exporter *e;

	fputs(verb_rows[verb].help, stdout);
	for (size_t i = 0; verb == VERB_EXPORT && (e = exporter_at(i)); i++)
		printf("  %-9s %s\n", e->name, e->what);
}

/* Report that no verb WORD, which may be NULL, is behind VERB. Return CTL_USAGE. */
static int no_verb_behind(const char *verb, const char *word)
{
	struct suggestion suggestion = {.word = word};
	char names[256] = "";

	for (size_t i = VERB_NONE + 1, used = 0; i < VERBS && used < sizeof(names); i++) {
		const char *behind = verb_rows[i].behind;

		if (!behind || strcmp(verb_rows[i].name, verb) != 0)
			continue;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", behind);
		if (word)
			suggestion_consider(&suggestion, behind);
	}
	if (!word)
		return say_usage(verb, "%s needs a verb: %s", verb, names);
	if (suggestion.best)
		return say_usage(verb, "there is no %s verb \"%s\"; did you mean %s?", verb, word, suggestion.best);
	/* A person may give a token, so the message does not quote it. */
	return say_usage(verb, "there is no %s verb \"%s\"", verb, token_in(word) ? "mprof_…" : word);
}

static int run_verb(struct line *line)
{
	enum verb_number verb = verb_find(line->argv[0], NULL);
	const char *behind = line->argc > 1 ? line->argv[1] : NULL;

	/* The help does not list this verb, because only the shells' completion scripts run it. */
	if (strcmp(line->argv[0], "complete") == 0)
		return cmd_complete(&line->ctl, line->argc, line->argv);
	if (!verb)
		return say_no_verb(line->argv[0]);
	if (verb_rows[verb].has_verbs) {
		verb = behind ? verb_find(line->argv[0], behind) : VERB_NONE;
		if (!verb)
			return no_verb_behind(line->argv[0], behind);
		line->argv[1] = line->argv[0];
		line->argv++;
		line->argc--;
	}
	line->ctl.verb = verb;
	return verbs[verb](&line->ctl, line->argc, line->argv);
}

/* Run --stdio-proxy. Return an exit code. */
static int run_proxy(const struct line *line)
{
	if (line->argc > 1)
		return say_usage(NULL, "--stdio-proxy takes a socket and no further argument");
	return stdio_proxy(line->argc ? line->argv[0] : NULL);
}

int main(int argc, char **argv)
{
	struct line line = {.ctl = {.hosts = {.list = getenv("MPROFCTL_HOST")}}};
	enum verb_number verb;
	int r;

	/*
	 * Ignore SIGPIPE: a write to a closed pipe then fails with EPIPE and does not end the
	 * program.
	 */
	signal(SIGPIPE, SIG_IGN);
	if (line.ctl.hosts.list && !line.ctl.hosts.list[0])
		line.ctl.hosts.list = NULL;
	r = take_common(&line, argc, argv);
	if (r)
		return r;
	if (line.options.version) {
		puts("mprofctl " MPROF_VERSION);
		return stdout_verdict();
	}
	verb = line.argc ? verb_find(line.argv[0], NULL) : VERB_NONE;
	if (line.options.help && (verb || !line.argc)) {
		print_help(verb);
		return stdout_verdict();
	}
	if (line.options.stdio_proxy)
		return run_proxy(&line);
	if (!line.argc)
		return say_usage(NULL, "no verb is given");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return say_memory();
	r = run_verb(&line);
	curl_global_cleanup();
	return r == CTL_FOREIGN ? CTL_DAMAGED : r;
}
