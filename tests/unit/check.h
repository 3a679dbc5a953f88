/*
 * Checks for tests. A check that fails prints the file, the line and the value that it saw. The
 * test continues.
 *
 *	int main(void)
 *	{
 *		CHECK_RUN(test_empty);
 *		CHECK_RUN(test_full);
 *		return check_done();
 *	}
 *
 * If a test cannot run on a machine, main returns with the reason:
 *	return check_skip("no reference traces beside the checkout");
 */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_SKIPPED 77 /* meson's exit code for a skipped test */

/*
 * A program of several files needs one count for all of them. A static variable of a header would
 * be private to each file.
 */
struct check_count {
	unsigned long done, failed;
};

static inline struct check_count *check_count(void)
{
	static struct check_count count;

	return &count;
}

static inline bool check_note(bool ok, const char *file, int line)
{
	check_count()->done++;
	if (ok)
		return true;
	check_count()->failed++;
	fprintf(stderr, "%s:%d: ", file, line);
	return false;
}

static inline bool check_true(bool ok, const char *what, const char *file, int line)
{
	if (check_note(ok, file, line))
		return true;
	fprintf(stderr, "does not hold: %s\n", what);
	return false;
}

static inline bool check_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	if (check_note(got == want, file, line))
		return true;
	fprintf(stderr, "%s is %" PRId64 " and not %" PRId64 "\n", what, got, want);
	return false;
}

static inline bool check_uint(uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
	if (check_note(got == want, file, line))
		return true;
	fprintf(stderr, "%s is %" PRIu64 " and not %" PRIu64 "\n", what, got, want);
	return false;
}

static inline bool check_str(const char *got, const char *want, const char *what, const char *file, int line)
{
	if (check_note(got == want || (got && want && strcmp(got, want) == 0), file, line))
		return true;
	fprintf(stderr, "%s is \"%s\" and not \"%s\"\n", what, got ? got : "(null)", want ? want : "(null)");
	return false;
}

static inline bool check_mem(const void *got, const void *want, size_t len, const char *what, const char *file,
			     int line)
{
	const uint8_t *a = (const uint8_t *)got, *b = (const uint8_t *)want;
	size_t i = 0;

	while (i < len && a[i] == b[i])
		i++;
	if (check_note(i == len, file, line))
		return true;
	fprintf(stderr, "%s differs at byte %zu of %zu: %02x and not %02x\n", what, i, len, a[i], b[i]);
	return false;
}

/*
 * Each check is an expression that is true if the check holds, so that a test can return early: if
 * (!CHECK(p)) return;
 */
#define CHECK(cond)		     check_true((cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ_INT(got, want)	     check_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_EQ_UINT(got, want)     check_uint((uint64_t)(got), (uint64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_EQ_STR(got, want)	     check_str((got), (want), #got, __FILE__, __LINE__)
#define CHECK_EQ_MEM(got, want, len) check_mem((got), (want), (len), #got, __FILE__, __LINE__)

/* Run one test function and print its name if it failed. */
#define CHECK_RUN(fn)                                                      \
	do {                                                               \
		unsigned long before_ = check_count()->failed;             \
		fn();                                                      \
		if (check_count()->failed != before_)                      \
			fprintf(stderr, "%s: FAILED %s\n", __FILE__, #fn); \
	} while (0)

/*
 * Return 1, or STEP in a brief run, as those of CI are: with MPROF_BRIEF. A loop over many cases that are alike takes
 * each STEP-th of them then. If each case has several ways, let STEP have no factor in common with their number.
 */
static inline unsigned check_step(unsigned step)
{
	return getenv("MPROF_BRIEF") ? step : 1;
}

/* Return the exit code for main: 0, or 1 if a check failed or no check was made. */
static inline int check_done(void)
{
	const struct check_count *count = check_count();

	fprintf(stderr, "%lu checks, %lu failed\n", count->done, count->failed);
	return count->failed || !count->done;
}

/* Print REASON, for which the test cannot run here, and return the exit code for main. */
static inline int check_skip(const char *reason)
{
	printf("SKIP: %s\n", reason);
	return CHECK_SKIPPED;
}

#endif
