/*
 * A program of assumptions about one library: each is a test with a name, which a row of docs/libraries.md explains.
 *
 *	PROGRAM            test all
 *	PROGRAM NAME…      test these
 *	PROGRAM --list     print the names
 */
#ifndef ASSUMPTION_H
#define ASSUMPTION_H

#include <stdio.h>
#include <string.h>

#include "check.h"

struct assumption {
	const char *name;
	void (*test)(void);
};

static inline int assumptions_list(const struct assumption *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s\n", all[i].name);
	return 0;
}

static inline void assumption_test(const struct assumption *a)
{
	unsigned long before = check_count()->failed;

	a->test();
	if (check_count()->failed != before)
		fprintf(stderr, "the assumption %s does not hold\n", a->name);
}

/* Test those of the N assumptions that ARGV names, or all. Return the exit code for main. */
static inline int assumptions_run(const struct assumption *all, size_t n, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return assumptions_list(all, n);
	for (int i = 1; i < argc; i++) {
		size_t at = 0;

		while (at < n && strcmp(all[at].name, argv[i]) != 0)
			at++;
		if (!CHECK(at < n))
			return 2;
		assumption_test(&all[at]);
	}
	for (size_t i = 0; argc == 1 && i < n; i++)
		assumption_test(&all[i]);
	return check_done();
}

#endif
