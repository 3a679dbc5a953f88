/* Pack and unpack the list of the ranges of a capture. */
#include "range-list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include <mprof/bytes.h>

#define HEAD_BYTES  8u
#define ENTRY_BYTES 48u
#define FLAG_LACKS  1u

static struct range_entry unpack_entry(const uint8_t *at)
{
	return (struct range_entry){
		.stream = (int64_t)mprof_load64(at),
		.number = mprof_load32(at + 8),
		.last_offset = mprof_load32(at + 12),
		.first_sequence = (int64_t)mprof_load64(at + 16),
		.last_sequence = (int64_t)mprof_load64(at + 24),
		.tail_bytes = (int64_t)mprof_load64(at + 32),
		.reached = (int64_t)mprof_load64(at + 40),
	};
}

static void pack_entry(const struct range_entry *entry, uint8_t *at)
{
	mprof_store64(at, (uint64_t)entry->stream);
	mprof_store32(at + 8, entry->number);
	mprof_store32(at + 12, (uint32_t)entry->last_offset);
	mprof_store64(at + 16, (uint64_t)entry->first_sequence);
	mprof_store64(at + 24, (uint64_t)entry->last_sequence);
	mprof_store64(at + 32, (uint64_t)entry->tail_bytes);
	mprof_store64(at + 40, (uint64_t)entry->reached);
}

int range_list_read(struct range_list *list, sqlite3_stmt *s, int at, int64_t capture, bool may_lack)
{
	const uint8_t *ranges = sqlite3_column_blob(s, at);
	const size_t bytes = (size_t)sqlite3_column_bytes(s, at);
	const struct checksum_row row = {.numbers = {capture}, .n = 1, .data = ranges, .data_bytes = bytes};

	*list = (struct range_list){.state = RANGE_LIST_DAMAGED};
	if (sqlite3_column_type(s, at) == SQLITE_NULL) {
		list->state = may_lack ? RANGE_LIST_OLD : RANGE_LIST_DAMAGED;
		return 0;
	}
	if (!ranges || bytes < HEAD_BYTES || bytes % ENTRY_BYTES != HEAD_BYTES ||
	    !checksum_holds(s, at + 1, false, &row))
		return 0;
	list->n = bytes / ENTRY_BYTES;
	list->entries = list->n ? malloc(list->n * sizeof(*list->entries)) : NULL;
	if (list->n && !list->entries)
		return -ENOMEM;
	list->state = mprof_load64(ranges) & FLAG_LACKS ? RANGE_LIST_LACKS : RANGE_LIST_WHOLE;
	for (size_t i = 0; i < list->n; i++)
		list->entries[i] = unpack_entry(ranges + HEAD_BYTES + i * ENTRY_BYTES);
	return 0;
}

void range_list_deinit(struct range_list *list)
{
	free(list->entries);
	*list = (struct range_list){0};
}

const struct range_entry *range_list_find(const struct range_list *list, int64_t stream)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->entries[i].stream == stream)
			return &list->entries[i];
	return NULL;
}

int range_list_put(struct range_list *list, const struct range_entry *entry)
{
	struct range_entry *more;
	size_t at = 0;

	while (at < list->n && list->entries[at].stream < entry->stream)
		at++;
	if (at == list->n || list->entries[at].stream != entry->stream) {
		more = realloc(list->entries, (list->n + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->entries = more;
		memmove(more + at + 1, more + at, (list->n++ - at) * sizeof(*more));
	}
	list->entries[at] = *entry;
	return 0;
}

int range_list_pack(const struct range_list *list, int64_t capture, uint8_t **ranges, size_t *bytes,
		    uint8_t checksum[CHECKSUM_BYTES])
{
	struct checksum_row row = {.numbers = {capture}, .n = 1};

	*bytes = HEAD_BYTES + list->n * ENTRY_BYTES;
	*ranges = malloc(*bytes);
	if (!*ranges)
		return -ENOMEM;
	mprof_store64(*ranges, list->state == RANGE_LIST_LACKS ? FLAG_LACKS : 0);
	for (size_t i = 0; i < list->n; i++)
		pack_entry(&list->entries[i], *ranges + HEAD_BYTES + i * ENTRY_BYTES);
	row.data = *ranges;
	row.data_bytes = *bytes;
	checksum_make(&row, checksum);
	return 0;
}
