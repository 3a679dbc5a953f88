/* Load bytes from a file and from an array. See memory.h. */
#include "memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static bool file_load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	const struct memory_file *file = (const struct memory_file *)memory;
	uint8_t *at = to;
	ssize_t got;

	while (n) {
		got = pread(file->fd, at, n, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	/* The kernel's plain loads come before those of the next call. */
	atomic_thread_fence(memory_order_acquire);
	return true;
}

void memory_file_init(struct memory_file *file, int fd)
{
	*file = (struct memory_file){.memory.load = file_load, .fd = fd};
}

/*
 * Copy N bytes that the writer may change meanwhile: aligned words, and bytes at both ends. Each is
 * loaded once, in ascending order.
 */
static void array_copy(uint8_t *to, const volatile uint8_t *from, size_t n)
{
	for (; n && (uintptr_t)from % sizeof(uint64_t) != 0; n--)
		*to++ = *from++;
	for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
		uint64_t word = *(const volatile uint64_t *)(const volatile void *)from;

		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		from += sizeof(word);
	}
	while (n--)
		*to++ = *from++;
}

static bool array_load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	const struct memory_array *array = (const struct memory_array *)memory;
	const volatile uint8_t *from = array->bytes + offset;
	uint8_t *at = to;

	if (offset > array->size || n > array->size - offset)
		return false;
	/*
	 * The writer stores each half of a size as 16 bits. Load an aligned half with one 16-bit
	 * load.
	 */
	if (n == 2 && (uintptr_t)from % 2 == 0) {
		uint16_t half = *(const volatile uint16_t *)from;

		memcpy(to, &half, 2);
	} else {
		array_copy(at, from, n);
	}
	atomic_thread_fence(memory_order_acquire); /* these loads come before those of the next call */
	return true;
}

void memory_array_init(struct memory_array *array, const volatile uint8_t *bytes, uint64_t size)
{
	*array = (struct memory_array){.memory.load = array_load, .bytes = bytes, .size = size};
}
