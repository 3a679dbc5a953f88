/* Parse JSON with jansson, and tell a lack of memory from a fault of the text. Who includes this header depends on jansson. */
#ifndef COMMON_JSON_PARSE_H
#define COMMON_JSON_PARSE_H

#include <errno.h>
#include <jansson.h>

#include "json-syntax.h"

/*
 * Parse BYTES bytes at TEXT as json_loadb() with FLAGS does. Set *JSON to the value, which the caller releases; it is NULL after a failure. Return 0;
 * -EINVAL: jansson refuses the text, and *ERROR says why; -ENOMEM. Without memory jansson 2.14 names no fault, or finds one of syntax in a
 * text that has none.
 */
static inline int json_parse(json_t **json, const char *text, size_t bytes, size_t flags, json_error_t *error)
{
	enum json_error_code code;

	error->text[JSON_ERROR_TEXT_LENGTH - 1] =
		json_error_unknown; /* jansson does not set the code if it names no fault */
	*json = json_loadb(text, bytes, flags, error);
	if (*json)
		return 0;
	code = json_error_code(error);
	if (code == json_error_out_of_memory || code == json_error_unknown)
		return -ENOMEM;
	if (code != json_error_invalid_syntax && code != json_error_premature_end_of_input &&
	    code != json_error_end_of_input_expected)
		return -EINVAL;
	return json_syntax_is_right(text, bytes) ? -ENOMEM : -EINVAL;
}

#endif
