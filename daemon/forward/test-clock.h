/*
 * A test's clock for the forwarder, which has no event loop (schema/control.md, `advance`). Only builds with the option
 * test-clock have it.
 */
#ifndef FORWARD_TEST_CLOCK_H
#define FORWARD_TEST_CLOCK_H

#ifdef COMMON_TEST_CLOCK
/* Start a thread that listens on clock.sock in the directory OWN, until the process ends. Return 0 or -errno. */
int test_clock_start(const char *own);
#else
static inline int test_clock_start(const char *own)
{
	(void)own;
	return 0;
}
#endif

#endif
