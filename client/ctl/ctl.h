/*
 * What all verbs of mprofctl share: exit codes, the options given before the verb, and the way to complain.
 *
 * Every verb is `int cmd_<verb>(const struct ctl *ctl, int argc, char **argv)`: argv[0] is the verb, the return an exit code, and
 * whatever went wrong has been said on stderr.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1,	     /* anything else */
	CTL_USAGE = 2,	     /* the command line */
	CTL_DAMAGED = 3,     /* a trace is damaged or cut; what is whole of it was given out */
	CTL_NOT_FOUND = 4,   /* no such guest, capture, run, stream or file, or it was deleted */
	CTL_UNREACHABLE = 5, /* the daemon does not answer */
};

struct ctl {
	const char *host; /* --host, MPROFCTL_HOST, or NULL for the default */
	bool json;
};

int cmd_domains(const struct ctl *ctl, int argc, char **argv);
int cmd_captures(const struct ctl *ctl, int argc, char **argv);
int cmd_show(const struct ctl *ctl, int argc, char **argv);
int cmd_fetch(const struct ctl *ctl, int argc, char **argv);
int cmd_snapshot(const struct ctl *ctl, int argc, char **argv);
int cmd_follow(const struct ctl *ctl, int argc, char **argv);
int cmd_stats(const struct ctl *ctl, int argc, char **argv);
int cmd_threads(const struct ctl *ctl, int argc, char **argv);
int cmd_complete(const struct ctl *ctl, int argc, char **argv);
int cmd_diff(const struct ctl *ctl, int argc, char **argv);
int cmd_view(const struct ctl *ctl, int argc, char **argv);
int cmd_why(const struct ctl *ctl, int argc, char **argv);
int cmd_bundle(const struct ctl *ctl, int argc, char **argv);
int cmd_export(const struct ctl *ctl, int argc, char **argv);
int cmd_dump(const struct ctl *ctl, int argc, char **argv);
int cmd_mem(const struct ctl *ctl, int argc, char **argv);

/*
 * Say "mprofctl: …" on stderr, a line of its own.  What comes from outside is escaped: every byte that is not printable UTF-8 is
 * written as \xNN, so that no guest and no server can steer a terminal.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and that `mprofctl VERB --help` helps; returns CTL_USAGE. */
int say_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "out of memory"; returns CTL_FAILED. */
int say_memory(void);

/* TEXT escaped for a terminal, but quotes and backslashes are left as they are; to be freed.  NULL without memory. */
char *printable(const char *text, size_t len);

#endif
