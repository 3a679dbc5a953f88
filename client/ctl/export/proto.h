/*
 * This file writes messages of protocol buffers from their end to their beginning. The length of a
 * message is known when the length is written in front of the message, so no bytes are copied. The
 * caller provides a buffer with enough room in front of AT.
 */
#ifndef CTL_PROTO_H
#define CTL_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PROTO_NUMBER_MAX 12u /* most bytes of a number and its field's tag */

enum proto_wire { PROTO_VARINT, PROTO_FIXED64, PROTO_BYTES };

struct proto {
	uint8_t *at; /* first byte of the bytes written so far */
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

/*
 * Make the bytes from P->at to END the message FIELD: write the field's tag and the message's
 * length in front of them.
 */
static inline void proto_message(struct proto *p, unsigned int field, const uint8_t *end)
{
	proto_varint(p, (uint64_t)(end - p->at));
	proto_tag(p, field, PROTO_BYTES);
}

#endif
