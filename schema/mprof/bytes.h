/* Little-endian loads and stores on private bytes of any alignment. */
#ifndef MPROF_SCHEMA_BYTES_H
#define MPROF_SCHEMA_BYTES_H

#include <stdint.h>

#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

/* One instruction each. At -O3 gcc does not make one out of bytes. A guest may have no memcpy. */
typedef struct {
	uint16_t v;
} __attribute__((packed, may_alias)) mprof_bytes16;
typedef struct {
	uint32_t v;
} __attribute__((packed, may_alias)) mprof_bytes32;
typedef struct {
	uint64_t v;
} __attribute__((packed, may_alias)) mprof_bytes64;

static inline uint16_t mprof_load16(const uint8_t *p)
{
	return ((const mprof_bytes16 *)(const void *)p)->v;
}

static inline uint32_t mprof_load32(const uint8_t *p)
{
	return ((const mprof_bytes32 *)(const void *)p)->v;
}

static inline uint64_t mprof_load64(const uint8_t *p)
{
	return ((const mprof_bytes64 *)(const void *)p)->v;
}

static inline void mprof_store16(uint8_t *p, uint16_t v)
{
	((mprof_bytes16 *)(void *)p)->v = v;
}

static inline void mprof_store32(uint8_t *p, uint32_t v)
{
	((mprof_bytes32 *)(void *)p)->v = v;
}

static inline void mprof_store64(uint8_t *p, uint64_t v)
{
	((mprof_bytes64 *)(void *)p)->v = v;
}

#else

static inline uint16_t mprof_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | (uint16_t)p[1] << 8);
}

static inline uint32_t mprof_load32(const uint8_t *p)
{
	return (uint32_t)mprof_load16(p) | (uint32_t)mprof_load16(p + 2) << 16;
}

static inline uint64_t mprof_load64(const uint8_t *p)
{
	return (uint64_t)mprof_load32(p) | (uint64_t)mprof_load32(p + 4) << 32;
}

static inline void mprof_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void mprof_store32(uint8_t *p, uint32_t v)
{
	mprof_store16(p, (uint16_t)v);
	mprof_store16(p + 2, (uint16_t)(v >> 16));
}

static inline void mprof_store64(uint8_t *p, uint64_t v)
{
	mprof_store32(p, (uint32_t)v);
	mprof_store32(p + 4, (uint32_t)(v >> 32));
}

#endif

#endif
