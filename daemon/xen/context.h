/* Why a capture was taken and around what, as the archive keeps it: the JSON of column captures.context. */
#ifndef COLLECT_CONTEXT_H
#define COLLECT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

struct subtree;

struct context {
	const char *reason;	       /* "crash", "poweroff", … or "unknown" */
	const struct subtree *subtree; /* NULL: none */
	const char *console;	       /* CONSOLE_LEN bytes as the guest wrote them, or NULL: none */
	size_t console_len;
	bool console_complete;
};

/* The text, which the caller frees, or NULL: no memory.  Guest bytes that are not printable UTF-8 stand in it as \xNN; line ends stay. */
char *context_json(const struct context *context);

#endif
