/*
 * How much of seccomp is on for a process, from the text of /proc/PID/status. The shim must not make a system
 * call that a filter of the program forbids. A filter that was there before mprof-run, such as a container's, is none of
 * the program's.
 */
#ifndef RUN_SECCOMP_LEVEL_H
#define RUN_SECCOMP_LEVEL_H

#include <stdint.h>
#include <string.h>

#define SECCOMP_LEVEL_MODE    1000000 /* what a mode counts; a filter counts 1 */
#define SECCOMP_LEVEL_UNKNOWN INT64_MAX

/* Return the number behind NAME in TEXT, or -1. */
static inline int64_t seccomp_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	int64_t n = 0;

	if (!at)
		return -1;
	for (at += strlen(name); *at == ' ' || *at == '\t'; at++) {
	}
	if (*at < '0' || *at > '9')
		return -1;
	for (; *at >= '0' && *at <= '9' && n < SECCOMP_LEVEL_MODE; at++)
		n = n * 10 + (*at - '0');
	return n;
}

/*
 * Return the level of the process whose status is TEXT: 0 = seccomp is off; a greater number after each further
 * filter, if Linux says how many there are (since 5.9). Return SECCOMP_LEVEL_UNKNOWN if TEXT does not say it.
 */
static inline int64_t seccomp_level(const char *text)
{
	int64_t mode = seccomp_number(text, "\nSeccomp:"), filters = seccomp_number(text, "\nSeccomp_filters:");

	if (mode < 0)
		return SECCOMP_LEVEL_UNKNOWN;
	return mode * SECCOMP_LEVEL_MODE + (filters > 0 ? filters : 0);
}

#endif
