/*
 * JSON of mprofctl: strings of a trace into it, and all of it into text.
 *
 * jansson accepts UTF-8 alone, and a guest may write any bytes.  jansson prints controls beyond U+001F and marks of direction as they are,
 * so its text passes mprof_text_json() once more: outside of ASCII that is the one escape of all JSON.
 */
#include <stdlib.h>

#include <mprof/trace.h>

#include "scope.h"
#include "text-json.h"

#define PIECE 512u

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

/* Return how many of the LEN bytes at TEXT are (BEYOND) or are not outside of printable ASCII. */
static size_t run(const char *text, size_t len, bool beyond)
{
	size_t n = 0;

	while (n < len && ((unsigned char)text[n] >= 0x7f) == beyond)
		n++;
	return n;
}

/* Write what jansson gives.  It gives whole characters, so none is split between two calls. */
static int put(const char *text, size_t len, void *data)
{
	FILE *f = data;
	char piece[PIECE];

	while (len) {
		size_t n = run(text, len, false), left;

		if (fwrite(text, 1, n, f) != n)
			return -1;
		text += n;
		len -= n;
		for (left = run(text, len, true), len -= left; left;) {
			n = mprof_text_json(piece, sizeof(piece), &text, &left);
			if (fwrite(piece, 1, n, f) != n)
				return -1;
		}
	}
	return 0;
}

bool json_put(const json_t *json, FILE *f, size_t flags)
{
	return json && json_dump_callback(json, put, f, flags) == 0;
}

char *json_text(const json_t *json, size_t flags)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	bool whole;

	if (!f)
		return NULL;
	whole = json_put(json, f, flags);
	if (fclose(f) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
