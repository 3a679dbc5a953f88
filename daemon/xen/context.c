/* The members are those that schema/http/openapi.yaml names for a capture's context; the server adds what it knows itself. */
#include "context.h"

#include <jansson.h>

#include "cleanup.h"
#include "subtree.h"
#include "text.h"

static json_t *console_json(const struct context *context)
{
	CLEANUP(freep) char *text = NULL;

	if (!context->console)
		return json_null();
	text = text_printable_bytes(context->console, context->console_len, true);
	return text ? json_string(text) : NULL;
}

char *context_json(const struct context *context)
{
	const struct subtree *subtree = context->subtree;
	bool seen = subtree && subtree->seen;
	json_t *json;
	char *text;

	json = json_pack("{s:s, s:o, s:b, s:o, s:b}", "reason", context->reason, "xenstore",
			 seen ? json_incref(subtree->seen) : json_null(), "xenstore_complete",
			 seen && subtree->complete, "console", console_json(context), "console_complete",
			 context->console && context->console_complete);
	if (!json)
		return NULL;
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}
