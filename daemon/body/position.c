/*
 * Parse positions. A position can be written in one way only, because entity tags and caches rely
 * on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/ring.h>

#include "position.h"
#include "quantity.h"

bool position_parse(struct position *p, const char *text)
{
	static const uint64_t max[4] = {INT64_MAX, UINT32_MAX, INT64_MAX, MPROF_RING_BYTES_MAX};
	uint64_t v[4];

	for (size_t i = 0; i < 4; i++) {
		if (!quantity_digits(&text, max[i], &v[i]) || *text != (i < 3 ? '.' : '\0'))
			return false;
		text++;
	}
	if (v[3] < MPROF_PACKET_HEADER_BYTES || v[0] == 0)
		return false;
	*p = (struct position){
		.run = (int64_t)v[0], .stream = (uint32_t)v[1], .sequence = v[2], .offset = (uint32_t)v[3]};
	return true;
}

void position_format(const struct position *p, char *text)
{
	snprintf(text, POSITION_TEXT, "%" PRId64 ".%" PRIu32 ".%" PRIu64 ".%" PRIu32, p->run, p->stream, p->sequence,
		 p->offset);
}
