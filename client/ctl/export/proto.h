/*
 * Write messages of protocol buffers from their end to their beginning: the length of a message is
 * known when it is written in front of it, and nothing is copied. The caller makes sure that there
 * is room.
 */
#ifndef CTL_PROTO_H
#define CTL_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PROTO_NUMBER_MAX 12u /* bytes of a number with its field */

enum proto_wire { PROTO_VARINT, PROTO_FIXED64, PROTO_BYTES };

struct proto {
	uint8_t *at; /* the beginning of what is written */
};

static inline void proto_varint(struct proto *p, uint64_t n)
{
	uint8_t *end = p->at;

	p->at -= 1 + (63 - (unsigned int)__builtin_clzll(n | 1)) / 7;
	for (uint8_t *at = p->at; at < end - 1; n >>= 7)
		*at++ = (uint8_t)(n | 0x80);
	end[-1] = (uint8_t)(n & 0x7f);
}

static inline void proto_tag(struct proto *p, unsigned int field, enum proto_wire wire)
{
	proto_varint(p, field << 3 | wire);
}

static inline void proto_number(struct proto *p, unsigned int field, uint64_t n)
{
	proto_varint(p, n);
	proto_tag(p, field, PROTO_VARINT);
}

static inline void proto_fixed64(struct proto *p, unsigned int field, uint64_t n)
{
	for (unsigned int i = 8; i; i--)
		*--p->at = (uint8_t)(n >> (i - 1) * 8);
	proto_tag(p, field, PROTO_FIXED64);
}

static inline void proto_string(struct proto *p, unsigned int field, const char *text, size_t len)
{
	p->at -= len;
	memcpy(p->at, text, len);
	proto_varint(p, len);
	proto_tag(p, field, PROTO_BYTES);
}

/* Make what was written since END the message FIELD. */
static inline void proto_message(struct proto *p, unsigned int field, const uint8_t *end)
{
	proto_varint(p, (uint64_t)(end - p->at));
	proto_tag(p, field, PROTO_BYTES);
}

#endif
