/*
 * How the bytes of a ring are loaded: with pread from a file, and with plain loads from granted
 * pages or an array of a test.
 *
 * Only daemon/ring calls load(). A call of load() is complete before the next one begins. Within
 * one call for more than two bytes, neither their order nor atomicity is guaranteed.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
	/*
	 * Copy the N bytes at OFFSET to TO. Return false if any of them do not exist any more: the
	 * file was truncated, or the pages were unmapped.
	 */
	bool (*load)(const struct memory *memory, uint64_t offset, void *to, size_t n);
};

/*
 * A file. FD is borrowed. The file is read with pread and not mapped, because reading a mapping of
 * a truncated file raises SIGBUS.
 */
struct memory_file {
	struct memory memory;
	int fd;
};

void memory_file_init(struct memory_file *file, int fd);

/* An array that another thread or a guest may write to. BYTES are borrowed. */
struct memory_array {
	struct memory memory;
	const volatile uint8_t *bytes;
	uint64_t size;
};

void memory_array_init(struct memory_array *array, const volatile uint8_t *bytes, uint64_t size);

#endif
