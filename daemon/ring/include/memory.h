/*
 * How the bytes of a ring are loaded: from a file with pread, from granted pages and from a test's
 * array with plain loads.
 *
 * Only daemon/ring calls LOAD. A load is finished before the next one begins. Inside one load of
 * more than two bytes neither order nor atomicity is promised.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
	/*
	 * Copy N bytes at OFFSET to TO. Return false if some of them are missing: the file was cut,
	 * or the pages are gone.
	 */
	bool (*load)(const struct memory *memory, uint64_t offset, void *to, size_t n);
};

/*
 * A file. FD is borrowed. It is read with pread and never mapped, because a file that is cut under
 * a mapping raises SIGBUS.
 */
struct memory_file {
	struct memory memory;
	int fd;
};

void memory_file_init(struct memory_file *file, int fd);

/* An array that another thread or a guest may write to. */
struct memory_array {
	struct memory memory;
	const volatile uint8_t *bytes;
	uint64_t size;
};

void memory_array_init(struct memory_array *array, const volatile uint8_t *bytes, uint64_t size);

#endif
