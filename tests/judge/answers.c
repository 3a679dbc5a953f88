/* The verbs print on standard output, which is a buffer meanwhile. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

json_t *answers_ask(const char *verb, const char *a, const char *b, int *code)
{
	static const struct {
		const char *name;
		int (*run)(const struct ctl *ctl, int argc, char **argv);
	} verbs[] = {{"why", cmd_why}, {"threads", cmd_threads}, {"stats", cmd_stats}, {"diff", cmd_diff}};
	const struct ctl ctl = {.json = true};
	char *argv[] = {strdup(verb), a ? strdup(a) : NULL, b ? strdup(b) : NULL, NULL}, *text = NULL;
	FILE *out = stdout, *buffer;
	size_t n = 0;
	json_t *json;

	buffer = open_memstream(&text, &n);
	stdout = buffer;
	*code = -1;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, verb) == 0)
			*code = verbs[i].run(&ctl, 1 + (a != NULL) + (b != NULL), argv);
	stdout = out;
	fclose(buffer);
	json = json_loadb(text, n, 0, NULL);
	free(text);
	for (size_t i = 0; i < 3; i++)
		free(argv[i]);
	return json;
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
