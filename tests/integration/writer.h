/*
 * Shared by the programs that write rings for tests: numbers from the command line, time, random
 * numbers, and a mapped ring file.
 */
#ifndef INTEGRATION_WRITER_H
#define INTEGRATION_WRITER_H

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>

#define NS_PER_S 1000000000ull

/* Print the error and exit. The test that started the program then fails. */
#define writer_die(...)                       \
	do {                                  \
		fprintf(stderr, __VA_ARGS__); \
		fputc('\n', stderr);          \
		exit(1);                      \
	} while (0)

static inline uint64_t writer_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline void writer_sleep_until(uint64_t ns)
{
	struct timespec until = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static inline void writer_sleep(uint64_t ns)
{
	writer_sleep_until(writer_now() + ns);
}

/* Return the next number of the generator splitmix64. Any seed works, also 0. */
static inline uint64_t writer_random64(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Return a random number from 0 to BELOW - 1. */
static inline uint32_t writer_random(uint64_t *state, uint32_t below)
{
	return (uint32_t)((writer_random64(state) >> 32) * below >> 32);
}

static inline bool writer_chance(uint64_t *state, uint32_t percent)
{
	return writer_random(state, 100) < percent;
}

static inline uint64_t writer_number(const char *text)
{
	char *rest;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &rest, 10);
	if (errno || *text < '0' || *text > '9' || *rest)
		writer_die("%s: not a number", text);
	return value;
}

/*
 * Parse --NAME VALUE pairs. OPTIONS ends with a zero entry; the value of entry i goes to
 * *NUMBERS[i], or to *TEXTS[i] if NUMBERS[i] is NULL.
 */
static inline void writer_options(int argc, char **argv, const struct option *options, uint64_t *const *numbers,
				  const char **const *texts)
{
	int c, index;

	while ((c = getopt_long_only(argc, argv, "", options, &index)) != -1) {
		if (c == '?')
			exit(2);
		if (numbers[index])
			*numbers[index] = writer_number(optarg);
		else
			*texts[index] = optarg;
	}
	if (optind < argc)
		writer_die("%s: not an option", argv[optind]);
}

static volatile sig_atomic_t writer_ended;

static inline void writer_end(int signal)
{
	(void)signal;
	writer_ended = 1;
}

/* Install a handler for SIGTERM and SIGINT that sets writer_ended. */
static inline void writer_catch_end(void)
{
	struct sigaction action = {.sa_handler = writer_end};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

/*
 * Map SIZE bytes of the file at PATH, which is opened with FLAGS and O_RDWR. The file's descriptor
 * is closed before the function returns.
 */
static inline uint8_t *writer_map(const char *path, int flags, size_t size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0644);
	uint8_t *memory;

	if (fd < 0)
		writer_die("%s: %s", path, strerror(errno));
	if (ftruncate(fd, (off_t)size) < 0)
		writer_die("%s: %s", path, strerror(errno));
	memory = (uint8_t *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		writer_die("%s: %s", path, strerror(errno));
	close(fd);
	return memory;
}

#endif
