/* Names come from guests: whatever they hold, it ends up as text. */
#include "mem-name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of a format: its numbers and fixed texts. */
#define FORMAT_MAX 400u
/* Of a name: a longer one says nothing more. */
#define NAME_MAX_BYTES 4096u

const char *mem_name(const struct mprof_mem *d, const struct mprof_flame_node *node, size_t *bytes)
{
	const char *name = node->code == MPROF_CODE_TRUNCATED ? "(truncated stack)"
			   : node->code == MPROF_CODE_UNKNOWN ? "(unknown stack)"
							      : "all";

	if (node->name != MPROF_NONE)
		name = mprof_mem_string(d, node->name, bytes);
	else
		*bytes = strlen(name);
	if (*bytes > NAME_MAX_BYTES)
		*bytes = NAME_MAX_BYTES;
	return name;
}

void mem_put_xml(struct writer *out, const char *text, size_t bytes)
{
	char piece[512];

	while (bytes) {
		size_t n = mprof_text_show(piece, sizeof(piece), &text, &bytes);

		for (size_t i = 0; i < n; i++) {
			const char *entity = piece[i] == '&'	? "&amp;"
					     : piece[i] == '<'	? "&lt;"
					     : piece[i] == '>'	? "&gt;"
					     : piece[i] == '"'	? "&quot;"
					     : piece[i] == '\'' ? "&#39;"
								: NULL;

			writer_put(out, entity ? entity : piece + i, entity ? strlen(entity) : 1);
		}
	}
}

void mem_put_format(struct writer *out, const char *format, ...)
{
	char *at = writer_room(out, FORMAT_MAX);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(at, FORMAT_MAX, format, args);
	va_end(args);
	writer_advance(out, n < 0 ? 0 : (size_t)n < FORMAT_MAX ? (size_t)n : FORMAT_MAX - 1);
}
