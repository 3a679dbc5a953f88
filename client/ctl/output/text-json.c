/* jansson takes UTF-8 alone, and a guest may write anything. */
#include <stdlib.h>

#include <mprof/trace.h>

#include "scope.h"
#include "text-json.h"

json_t *text_json(const char *text, size_t len)
{
	SCOPED(freep) char *quoted = NULL;
	size_t room = len * MPROF_TEXT_FACTOR + 64, n;

	if (mprof_text_is_utf8(text, len))
		return json_stringn(text, len);
	quoted = malloc(room + 2);
	if (!quoted)
		return NULL;
	quoted[0] = '"';
	n = 1 + mprof_text_json(quoted + 1, room, &text, &len);
	quoted[n++] = '"';
	return json_loadb(quoted, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}
