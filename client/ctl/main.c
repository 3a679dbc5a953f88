/* mprofctl: take the options that all verbs have, then run the verb. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "array.h"
#include "ctl.h"
#include "help.h"
#include "options.h"
#include "stdio-proxy.h"
#include "suggestion.h"
#include "table.h"
#include "verbs.h"

struct verb {
	const char *name;
	int (*run)(const struct ctl *ctl, int argc, char **argv);
};

static const struct verb verbs[] = {
	{"domains", cmd_domains},   {"captures", cmd_captures}, {"show", cmd_show}, {"fetch", cmd_fetch},
	{"snapshot", cmd_snapshot}, {"follow", cmd_follow},	{"dump", cmd_dump}, {"stats", cmd_stats},
	{"threads", cmd_threads},   {"why", cmd_why},		{"diff", cmd_diff}, {"mem", cmd_mem},
	{"export", cmd_export},	    {"bundle", cmd_bundle},	{"view", cmd_view}, {"token", cmd_token},
	{"hosts", cmd_hosts},	    {"fleet", cmd_fleet},
};

/* The parsed command line. */
struct line {
	struct ctl ctl;
	bool help;
	bool version;
	bool proxy; /* --stdio-proxy */
	int argc;
	char **argv; /* the verb and its arguments; they stay in the ARGV of main() */
};

/*
 * If the argument at ARGV[*AT] is --host, --ca, --cert, --key or --token, take its value into HOSTS
 * and move *AT to its last argument. Set *TAKEN. Return an exit code.
 */
static int take_host(struct hosts *hosts, int argc, char **argv, int *at, bool *taken)
{
	const struct {
		const char *name;
		const char **value;
	} options[] = {
		{"--host", &hosts->list}, {"--ca", &hosts->ca},	      {"--cert", &hosts->cert},
		{"--key", &hosts->key},	  {"--token", &hosts->token},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *name = options[i].name;
		size_t n = strlen(name);

		if (strncmp(argv[*at], name, n) != 0 || (argv[*at][n] && argv[*at][n] != '='))
			continue;
		*taken = true;
		if (argv[*at][n])
			*options[i].value = argv[*at] + n + 1;
		else if (*at + 1 < argc)
			*options[i].value = argv[++*at];
		else
			return say_usage(NULL, "option %s needs a value", name);
		return (*options[i].value)[0] ? CTL_OK : say_usage(NULL, "option %s is empty", name);
	}
	return CTL_OK;
}

/*
 * Take the options of every verb, and --stdio-proxy, out of ARGV into LINE, up to an argument "--".
 * LINE->argv gets the other arguments. Return an exit code.
 */
static int take_common(struct line *line, int argc, char **argv)
{
	int i, r;

	line->argv = argv;
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool taken = false;

		r = take_host(&line->ctl.hosts, argc, argv, &i, &taken);
		if (r)
			return r;
		if (taken)
			continue;
		if (strcmp(argv[i], "--json") == 0)
			line->ctl.json = true;
		else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			line->help = true;
		else if (strcmp(argv[i], "--version") == 0)
			line->version = true;
		else if (strcmp(argv[i], "--stdio-proxy") == 0)
			line->proxy = true;
		else
			argv[line->argc++] = argv[i];
	}
	for (; i < argc; i++)
		argv[line->argc++] = argv[i];
	return CTL_OK;
}

static int no_verb(const char *word)
{
	const char *what = word[0] == '-' ? "option" : "verb";
	struct suggestion suggestion = {.word = word};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		suggestion_consider(&suggestion, verbs[i].name);
	for (size_t i = 0; common_options[i]; i++)
		suggestion_consider(&suggestion, common_options[i]);
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
	if (line.version) {
		puts("mprofctl " MPROF_VERSION);
		return stdout_verdict();
	}
	if (line.help && help_print(line.argc ? line.argv[0] : NULL))
		return stdout_verdict();
	if (line.proxy)
		return run_proxy(&line);
	if (!line.argc)
		return say_usage(NULL, "no verb is given");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return say_memory();
	r = run_verb(&line);
	curl_global_cleanup();
	return r == CTL_FOREIGN ? CTL_DAMAGED : r;
}
