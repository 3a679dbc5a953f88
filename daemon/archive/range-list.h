/* The list of the ranges of a capture, as the table capture_lists stores it (schema/archive/0007-capture-lists.sql). */
#ifndef ARCHIVE_RANGE_LIST_H
#define ARCHIVE_RANGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"

/* A range of a capture, with all that its row of capture_streams has but the capture. */
struct range_entry {
	int64_t stream;
	uint32_t number; /* of the stream in its run */
	int64_t first_sequence, last_sequence, last_offset, tail_bytes, reached;
};

enum range_list_state {
	RANGE_LIST_WHOLE,
	RANGE_LIST_OLD,	    /* an earlier version wrote the capture without a list */
	RANGE_LIST_LACKS,   /* the list was damaged once: it has what was left */
	RANGE_LIST_DAMAGED, /* it does not agree with its checksum, or is missing */
};

struct range_list {
	enum range_list_state state;
	struct range_entry *entries; /* ascending by stream; owned */
	size_t n;
};

/*
 * Read the list of CAPTURE from the columns AT (the ranges) and AT + 1 (the checksum) of the current row of S. MAY_LACK: an
 * earlier version wrote the capture. Return 0, and the caller calls range_list_deinit(); or -ENOMEM.
 */
int range_list_read(struct range_list *list, struct sqlite3_stmt *s, int at, int64_t capture, bool may_lack);
void range_list_deinit(struct range_list *list);

/* Return the entry of STREAM, valid until LIST changes; NULL if LIST has none. */
const struct range_entry *range_list_find(const struct range_list *list, int64_t stream);
/* Add ENTRY, or replace the one of its stream. Return 0 or -ENOMEM. */
int range_list_put(struct range_list *list, const struct range_entry *entry);

/*
 * Pack LIST of CAPTURE into *RANGES, which the caller frees, *BYTES long, with its CHECKSUM. The state RANGE_LIST_LACKS is
 * stored. Return 0 or -ENOMEM.
 */
int range_list_pack(const struct range_list *list, int64_t capture, uint8_t **ranges, size_t *bytes,
		    uint8_t checksum[CHECKSUM_BYTES]);

#endif
