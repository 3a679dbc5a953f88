/*
 * A stand-in for Solo5: its clock, its console and its abort. It is a file of its own, because the linker
 * replaces a call of solo5_abort() only where the function is in another file.
 */
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define EXIT_ABORT 255

uint64_t solo5_clock_monotonic(void);
void solo5_console_write(const char *text, size_t bytes);
void solo5_abort(void) __attribute__((noreturn));

uint64_t solo5_clock_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void solo5_console_write(const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(STDOUT_FILENO, text, bytes);

		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}

/* The test ends the domain as Xen would: by a crash, for this status. */
void solo5_abort(void)
{
	_exit(EXIT_ABORT);
}
