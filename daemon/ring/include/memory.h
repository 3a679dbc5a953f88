/*
 * How the bytes of a ring are loaded: a file by pread, granted pages by plain loads, an array in a test.
 *
 * Only ring.c calls this.  A load is finished before the next one begins (loads are not reordered); inside one load of more
 * than two bytes no order is promised, and neither is atomicity.
 */
#ifndef COLLECT_MEMORY_H
#define COLLECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
	/* Copy N bytes at OFFSET to TO.  False: they are not all there (the file was cut, the pages are gone). */
	bool (*load)(const struct memory *memory, uint64_t offset, void *to, size_t n);
};

/* A file.  FD is borrowed.  pread, never a mapping: a file that is cut under a mapping raises SIGBUS. */
struct memory_file {
	struct memory memory;
	int fd;
};

void memory_file_init(struct memory_file *file, int fd);

/* An array that another thread may write to. */
struct memory_array {
	struct memory memory;
	const volatile uint8_t *bytes;
	uint64_t size;
};

void memory_array_init(struct memory_array *array, const volatile uint8_t *bytes, uint64_t size);

#endif
