/* Reading private bytes of a memtrace packet, which may end anywhere.  All integers are little-endian, nothing is aligned. */
#ifndef TRACE_MEM_BYTES_H
#define TRACE_MEM_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/bytes.h>

/* What is left of a piece of bytes. */
struct mem_bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static inline bool mem_has(const struct mem_bytes *b, size_t n)
{
	return (size_t)(b->end - b->at) >= n;
}

/* The format's number of one, three, five or nine bytes; four of them are signed.  False where it does not end. */
static inline bool mem_vint(struct mem_bytes *b, uint64_t *value)
{
	uint8_t first;

	if (!mem_has(b, 1))
		return false;
	first = *b->at++;
	if (first < 253) {
		*value = first;
		return true;
	}
	if (!mem_has(b, first == 253 ? 2 : first == 254 ? 4 : 8))
		return false;
	if (first == 253) {
		*value = mprof_load16(b->at);
		b->at += 2;
	} else if (first == 254) {
		*value = (uint64_t)(int64_t)(int32_t)mprof_load32(b->at);
		b->at += 4;
	} else {
		*value = mprof_load64(b->at);
		b->at += 8;
	}
	return true;
}

#endif
