/*
 * Messages for people, on stderr. say() and its relatives escape each message, because a message
 * can quote a guest, a server or a file.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "cleanup.h"
#include "ctl.h"

/*
 * Undo the escapes of quotes and backslashes in the N bytes at S, because a person reads the text
 * and no parser does. Return the new length.
 */
static size_t unquote(char *s, size_t n)
{
	size_t out = 0;

	for (size_t in = 0; in < n; in++) {
		if (s[in] == '\\' && in + 1 < n && (s[in + 1] == '"' || s[in + 1] == '\\'))
			in++;
		s[out++] = s[in];
	}
	return out;
}

char *printable(const char *text, size_t len)
{
	size_t room = len * MPROF_TEXT_FACTOR + 32, n;
	char *out = malloc(room + 1);

	if (!out)
		return NULL;
	n = unquote(out, mprof_text_escape(out, room, &text, &len));
	out[n] = 0;
	return out;
}

__attribute__((format(printf, 1, 0))) static void say_list(const char *format, va_list args)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *safe = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text)
		safe = printable(text, strlen(text));
	fprintf(stderr, "mprofctl: %s\n", safe ? safe : "out of memory");
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
}

int say_usage(const char *verb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
	fprintf(stderr, "Try `mprofctl%s%s --help`.\n", verb ? " " : "", verb ? verb : "");
	return CTL_USAGE;
}

int say_memory(void)
{
	say("out of memory");
	return CTL_FAILED;
}
