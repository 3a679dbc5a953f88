/* Scopes as JSON: lists of globs, and a boolean. */
#include <stdio.h>
#include <string.h>

#include "memory-stream.h"
#include "row-json.h"
#include "scopes-json.h"

/* Return the globs in TEXT, which are separated by blanks, as an array; NULL without memory. */
static json_t *json_globs(const char *text)
{
	json_t *array = json_array();

	for (size_t n; array && *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (json_array_append_new(array, json_stringn(text, n)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *json_scopes(const struct scopes *s)
{
	return json_pack("{s:o, s:o, s:o, s:b}", "read", json_globs(scopes_globs(s, SCOPE_READ)), "context",
			 json_globs(scopes_globs(s, SCOPE_CONTEXT)), "write", json_globs(scopes_globs(s, SCOPE_WRITE)),
			 "metrics", (int)scopes_metrics(s));
}

/* Append the item KEY of the globs in ARRAY (NULL = none) to TEXT. Return false if it is malformed. */
static bool put_globs(FILE *text, const char *key, const json_t *array)
{
	const char *glob;

	if (array && !json_is_array(array))
		return false;
	fprintf(text, "%s=", key);
	for (size_t i = 0; i < json_array_size(array); i++) {
		glob = json_string_value(json_array_get(array, i));
		if (!glob || !*glob || strpbrk(glob, " \t;,"))
			return false;
		fprintf(text, "%s ", glob);
	}
	fputc(';', text);
	return true;
}

static bool put_scopes(FILE *text, const json_t *object)
{
	const json_t *metrics = json_object_get(object, "metrics");
	size_t known = metrics != NULL;
	bool good = json_is_object(object) && (!metrics || json_is_boolean(metrics));

	for (size_t i = 0; i < SCOPES; i++) {
		const json_t *globs = json_object_get(object, scope_names[i]);

		known += globs != NULL;
		good = good && put_globs(text, scope_names[i], globs);
	}
	fprintf(text, "metrics=%s", json_is_true(metrics) ? "yes" : "no");
	return good && known == json_object_size(object);
}

struct scopes *scopes_of_json(const json_t *object, char *sentence, size_t size)
{
	CLEANUP(freep) char *text = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);
	bool good = stream && put_scopes(stream, object);

	if (!stream || !memory_stream_close(stream, &text)) {
		snprintf(sentence, size, "no memory left to read the scopes");
		return NULL;
	}
	if (good)
		return scopes_parse(text, sentence, size);
	snprintf(sentence, size,
		 "scopes must be {\"read\": [GLOB, ...], \"context\": [...], \"write\": [...], \"metrics\": true or "
		 "false}; a "
		 "glob has no blank, comma or semicolon");
	return NULL;
}
