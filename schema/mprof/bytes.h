/* Little-endian loads and stores on private bytes of any alignment. */
#ifndef MPROF_SCHEMA_BYTES_H
#define MPROF_SCHEMA_BYTES_H

#include <stdint.h>

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
