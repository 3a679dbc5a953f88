/*
 * Shared by all of mprofctl: exit codes, the options before the verb, and error messages.
 *
 * In mprofctl a function that returns an exit code other than CTL_OK has reported the error on
 * stderr.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mprofctl-options.h"

enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1, /* any other error */
	CTL_USAGE = 2,	/* a mistake on the command line */
	/* The trace is damaged or cut; mprofctl wrote out all that is intact. */
	CTL_DAMAGED = 3,
	CTL_NOT_FOUND = 4,   /* no such guest, capture, run, stream or file, or it was deleted */
	CTL_UNREACHABLE = 5, /* the daemon does not answer */
	/* Within mprofctl: the input is a file of another kind and was not read. main() ends with 3. */
	CTL_FOREIGN = 6,
};

/*
 * The daemons that the command line selects, and the options for reaching them. A verb that needs a
 * daemon resolves them (host.h); others never read them. All strings are borrowed.
 */
struct hosts {
	/* --host, MPROFCTL_HOST, or NULL for the default: an address, or names with commas. */
	const char *list;
	const char *ca, *cert, *key, *token; /* paths of files; NULL = not given */
	/* The one name of LIST that hosts_choose() or hosts_at() chose, ONE_LEN bytes; NULL = none. */
	const char *one;
	size_t one_len;
	bool unattended; /* nobody can answer a question of ssh */
};

struct ctl {
	enum verb_number verb; /* the verb that runs */
	struct hosts hosts;
	bool json;
};

/*
 * Print the line "mprofctl: …" on stderr. Each byte that is not printable UTF-8 appears as a
 * backslash, an x and two hexadecimal digits, so that no guest and no server can send control
 * characters to a terminal.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As say(), and add a hint to `mprofctl VERB --help`. Return CTL_USAGE. */
int say_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Report "out of memory". Return CTL_FAILED. */
int say_memory(void);

/*
 * Return TEXT of LEN bytes with all bytes that a terminal could interpret escaped. Quotes and
 * backslashes stay as they are. The caller frees the result. Return NULL without memory.
 */
char *printable(const char *text, size_t len);

#endif
