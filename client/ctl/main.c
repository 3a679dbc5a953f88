/* mprofctl: take the options that all verbs have, then run the verb. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "array.h"
#include "ctl.h"
#include "options.h"

struct verb {
	const char *name;
	int (*run)(const struct ctl *ctl, int argc, char **argv);
};

static const struct verb verbs[] = {
	{"domains", cmd_domains},   {"captures", cmd_captures}, {"show", cmd_show}, {"fetch", cmd_fetch},
	{"snapshot", cmd_snapshot}, {"follow", cmd_follow},	{"dump", cmd_dump}, {"stats", cmd_stats},
	{"threads", cmd_threads},   {"why", cmd_why},		{"diff", cmd_diff}, {"mem", cmd_mem},
	{"export", cmd_export},	    {"bundle", cmd_bundle},	{"view", cmd_view},
};

/* The parsed command line. */
struct line {
	struct ctl ctl;
	bool help;
	bool version;
	int argc;
	char **argv; /* the verb and its arguments; they stay in the ARGV of main() */
};

static int take_host(struct line *line, int argc, char **argv, int *at)
{
	if (strncmp(argv[*at], "--host=", 7) == 0)
		line->ctl.host = argv[*at] + 7;
	else if (*at + 1 < argc)
		line->ctl.host = argv[++*at];
	else
		return say_usage(NULL, "option --host needs a value");
	return line->ctl.host[0] ? CTL_OK : say_usage(NULL, "option --host is empty");
}

/*
 * Take --host, --json, --help and --version out of ARGV into LINE, up to an argument "--".
 * LINE->argv gets the other arguments. Return an exit code.
 */
static int take_common(struct line *line, int argc, char **argv)
{
	int i, r;

	line->argv = argv;
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			line->ctl.json = true;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			line->help = true;
		} else if (strcmp(argv[i], "--version") == 0) {
			line->version = true;
		} else if (strcmp(argv[i], "--host") == 0 || strncmp(argv[i], "--host=", 7) == 0) {
			r = take_host(line, argc, argv, &i);
			if (r)
				return r;
		} else {
			argv[line->argc++] = argv[i];
		}
	}
	for (; i < argc; i++)
		argv[line->argc++] = argv[i];
	return CTL_OK;
}

static int no_verb(const char *word)
{
	static const char *const common[] = {"--host", "--json", "--help", "--version"};
	const char *what = word[0] == '-' ? "option" : "verb";
	struct suggestion suggestion = {.word = word};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		suggestion_consider(&suggestion, verbs[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		suggestion_consider(&suggestion, common[i]);
	if (suggestion.best)
		return say_usage(NULL, "there is no %s \"%s\"; did you mean %s?", what, word, suggestion.best);
	return say_usage(NULL, "there is no %s \"%s\"", what, word);
}

static int run_verb(const struct line *line)
{
	/* The help does not list this verb, because only the shells' completion scripts run it. */
	if (strcmp(line->argv[0], "complete") == 0)
		return cmd_complete(&line->ctl, line->argc, line->argv);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(line->argv[0], verbs[i].name) == 0)
			return verbs[i].run(&line->ctl, line->argc, line->argv);
	return no_verb(line->argv[0]);
}

int main(int argc, char **argv)
{
	struct line line = {.ctl = {.host = getenv("MPROFCTL_HOST")}};
	int r;

	/*
	 * Ignore SIGPIPE: a write to a closed pipe then fails with EPIPE and does not end the
	 * program.
	 */
	signal(SIGPIPE, SIG_IGN);
	if (line.ctl.host && !line.ctl.host[0])
		line.ctl.host = NULL;
	r = take_common(&line, argc, argv);
	if (r)
		return r;
	if (line.version) {
		puts("mprofctl " MPROF_VERSION);
		return CTL_OK;
	}
	if (line.help && help_print(line.argc ? line.argv[0] : NULL))
		return CTL_OK;
	if (!line.argc)
		return say_usage(NULL, "no verb is given");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return say_memory();
	r = run_verb(&line);
	curl_global_cleanup();
	return r;
}
