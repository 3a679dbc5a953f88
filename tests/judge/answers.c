/* The verbs print on standard output, which is a buffer meanwhile. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "verbs.h"

#define WORDS_MAX 6

/*
 * Run VERB with the N words WORDS, at most WORDS_MAX. Return what it printed, which the caller frees, of *BYTES bytes.
 * The verb may move the words.
 */
static char *run(int (*verb)(const struct ctl *ctl, int argc, char **argv), const char *const *words, int n, int *code,
		 size_t *bytes)
{
	const struct ctl ctl = {.verb = verb_find(words[0], NULL), .json = true};
	char *argv[WORDS_MAX + 1] = {NULL}, *copies[WORDS_MAX], *text = NULL;
	FILE *out = stdout, *buffer;

	for (int i = 0; i < n; i++)
		argv[i] = copies[i] = strdup(words[i]);
	buffer = open_memstream(&text, bytes);
	stdout = buffer;
	*code = verb(&ctl, n, argv);
	stdout = out;
	fclose(buffer);
	for (int i = 0; i < n; i++)
		free(copies[i]);
	return text;
}

json_t *answers_ask(const char *verb, const char *a, const char *b, int *code)
{
	static const struct {
		const char *name;
		int (*run)(const struct ctl *ctl, int argc, char **argv);
	} verbs[] = {{"why", cmd_why}, {"threads", cmd_threads}, {"stats", cmd_stats}, {"diff", cmd_diff}};
	const char *const words[] = {verb, a, b};
	json_t *json = NULL;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, verb) == 0) {
			size_t n = 0;
			char *text = run(verbs[i].run, words, b ? 3 : 2, code, &n);

			json = json_loadb(text, n, 0, NULL);
			free(text);
		}
	return json;
}

bool answers_export(const char *path, const char *format, const char *file)
{
	const char *const words[] = {"export", path, "--to", format, "-o", file};
	size_t n = 0;
	int code;

	free(run(cmd_export, words, 6, &code, &n));
	return code == 0;
}

int64_t answers_number(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

uint64_t answers_time(const json_t *json, const char *key)
{
	const char *text = answers_text(json, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

const char *answers_text(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}
