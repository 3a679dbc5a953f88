/* Read the head of a capture. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-head.h"
#include "json-parse.h"
#include "quantity.h"

#include <mprof/ring.h>

#define HEAD_MOST    65536u /* bytes of a head as the hub takes it; it writes blanks between the members */
#define STREAMS_MOST 4096u
#define GAPS_MOST    4096u

struct capture_head {
	json_t *json, *streams, *gaps; /* JSON is owned */
	const char *kind, *guest;
	uint64_t real, mono;
	int64_t run;
};

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Read a member that is a text of digits. Return false if it is anything else. */
static bool digits(const json_t *object, const char *key, uint64_t *value)
{
	const char *word = text(object, key);

	return word && quantity_whole(word, UINT64_MAX, value);
}

/* Read a member that is a packet's number or a stamp, as text. Return false if it is anything else. */
static bool sequence(const json_t *object, const char *key, uint64_t *value)
{
	return digits(object, key, value) && *value <= INT64_MAX;
}

/* Read a member that is an integer from LEAST to MOST. Return false if it is anything else. */
static bool whole(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *value)
{
	const json_t *member = json_object_get(object, key);

	*value = json_integer_value(member);
	return json_is_integer(member) && *value >= least && *value <= most;
}

static int refuse(char *sentence, size_t size, const char *why)
{
	snprintf(sentence, size, "the head of the capture %s", why);
	return -EINVAL;
}

int capture_head_read(struct capture_head **hp, const char *json, char *sentence, size_t size)
{
	CLEANUP(capture_head_freep) struct capture_head *h = calloc(1, sizeof(*h));
	size_t n = strnlen(json, 2 * HEAD_MOST + 1);
	json_error_t error;

	if (!h)
		return -ENOMEM;
	if (n > 2 * HEAD_MOST)
		return refuse(sentence, size, "is too long");
	if (json_parse(&h->json, json, n, JSON_REJECT_DUPLICATES, &error) == -ENOMEM)
		return -ENOMEM;
	if (!json_is_object(h->json))
		return refuse(sentence, size, "is no JSON object");
	h->kind = text(h->json, "kind");
	h->guest = text(h->json, "guest");
	if (!h->kind || !h->guest)
		return refuse(sentence, size, "does not name its kind and its guest");
	if (!digits(h->json, "real", &h->real) || !digits(h->json, "mono", &h->mono) ||
	    !whole(h->json, "run", 1, INT64_MAX, &h->run))
		return refuse(sentence, size, "does not say its time and its run");
	h->streams = json_object_get(h->json, "streams");
	h->gaps = json_object_get(h->json, "gaps");
	if (json_array_size(h->streams) > STREAMS_MOST || json_array_size(h->gaps) > GAPS_MOST)
		return refuse(sentence, size, "lists too many streams or gaps");
	*hp = TAKE_PTR(h);
	return 0;
}

struct capture_head *capture_head_free(struct capture_head *head)
{
	if (head)
		json_decref(head->json);
	free(head);
	return NULL;
}

struct archive_run capture_head_run(const struct capture_head *head)
{
	const char *source = text(head->json, "run_source"), *key = text(head->json, "run_key");
	struct archive_run run = {
		.id = head->run,
		.source = source ? source : "",
		.key = key ? key : "",
		.name = head->guest,
		.uuid = text(head->json, "uuid"),
		.domid = -1,
		.state = "ended",
		.began_real = head->real,
		.ended_real = head->real,
		.reason = head->kind,
	};
	int64_t domid;

	if (whole(head->json, "domid", 0, UINT16_MAX, &domid))
		run.domid = domid;
	(void)digits(head->json, "run_began", &run.began_real);
	return run;
}

struct archive_capture capture_head_capture(const struct capture_head *head, int64_t number)
{
	return (struct archive_capture){
		.id = number,
		.run = head->run,
		.kind = head->kind,
		.real = head->real,
		.mono = head->mono,
	};
}

size_t capture_head_streams(const struct capture_head *head)
{
	return json_array_size(head->streams);
}

size_t capture_head_gaps(const struct capture_head *head)
{
	return json_array_size(head->gaps);
}

/* Return whether an entry before place I has the same identifier or number as ENTRY. */
static bool repeats(const struct capture_head *head, size_t i, const json_t *entry)
{
	for (size_t k = 0; k < i; k++) {
		const json_t *other = json_array_get(head->streams, k);

		if (json_equal(json_object_get(other, "id"), json_object_get(entry, "id")) ||
		    json_equal(json_object_get(other, "number"), json_object_get(entry, "number")))
			return true;
	}
	return false;
}

bool capture_head_stream(const struct capture_head *head, size_t i, int64_t number, struct archive_stream *stream,
			 struct archive_capture_stream *range)
{
	const json_t *entry = json_array_get(head->streams, i);
	int64_t id, place, bytes, packets, flags, offset, tail;

	if (!whole(entry, "id", 1, INT32_MAX, &id) || !whole(entry, "number", 0, UINT16_MAX, &place) ||
	    repeats(head, i, entry) || !sequence(entry, "first_sequence", &range->first_sequence) ||
	    !sequence(entry, "last_sequence", &range->last_sequence) || range->first_sequence > range->last_sequence ||
	    !whole(entry, "last_offset", 0, MPROF_RING_BYTES_MAX, &offset))
		return false;
	if (!whole(entry, "ring_bytes", 0, MPROF_RING_BYTES_MAX, &bytes))
		bytes = 0;
	if (!whole(entry, "ring_packets", 0, MPROF_RING_PACKETS_MAX, &packets))
		packets = 0;
	if (!whole(entry, "flags", 0, UINT8_MAX, &flags))
		flags = 0;
	if (!whole(entry, "tail_marked", 0, MPROF_RING_BYTES_MAX, &tail))
		tail = 0;
	*stream = (struct archive_stream){
		.id = id,
		.run = head->run,
		.number = (uint32_t)place,
		.name = text(entry, "name"),
		.ring_bytes = (uint64_t)bytes,
		.ring_packets = (uint32_t)packets,
		.flags = (uint32_t)flags,
	};
	range->capture = number;
	range->stream = id;
	range->last_offset = (uint32_t)offset;
	range->tail_marked = (uint64_t)tail;
	return true;
}

bool capture_head_has_all(const struct capture_head *head, size_t i)
{
	return !json_is_false(json_object_get(json_array_get(head->streams, i), "complete"));
}

bool capture_head_gap(const struct capture_head *head, size_t i, struct archive_gap *gap)
{
	const json_t *entry = json_array_get(head->gaps, i);
	int64_t stream, offset, packets;

	*gap = (struct archive_gap){.kind = text(entry, "kind"), .reason = text(entry, "reason")};
	if (!gap->kind || !gap->reason || !whole(entry, "stream", 1, INT32_MAX, &stream) ||
	    !sequence(entry, "after_sequence", &gap->after_sequence) ||
	    !sequence(entry, "next_sequence", &gap->next_sequence) ||
	    !whole(entry, "after_offset", 0, MPROF_RING_BYTES_MAX, &offset) ||
	    !whole(entry, "packets", 0, INT64_MAX, &packets))
		return false;
	gap->stream = stream;
	gap->after_offset = (uint32_t)offset;
	gap->packets = (uint64_t)packets;
	gap->at_least = json_is_true(json_object_get(entry, "at_least"));
	/* A host of an earlier version does not say when it found the gap. */
	if (!sequence(entry, "real", &gap->real) || !sequence(entry, "mono", &gap->mono))
		gap->real = gap->mono = 0;
	return true;
}

bool capture_head_lacks(const struct capture_head *head)
{
	return json_is_true(json_object_get(head->json, "lacks"));
}

bool capture_head_is_cut(const struct capture_head *head)
{
	return json_is_true(json_object_get(head->json, "cut"));
}
