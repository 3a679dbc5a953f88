/*
 * Fuzz the head of a capture on the hub, JSON of a hostile host. Values that are read are in the ranges
 * that the archive has, and no two streams have the same identifier or number.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "capture-head.h"
#include "fuzz.h"

#include <mprof/ring.h>

static void check_run(const struct capture_head *head)
{
	const struct archive_run run = capture_head_run(head);
	const struct archive_capture capture = capture_head_capture(head, 7);

	require(run.id > 0 && run.source && run.key && run.name && run.state && run.reason);
	require(run.domid >= -1 && run.domid <= UINT16_MAX);
	require(capture.id == 7 && capture.run == run.id && capture.kind);
}

static void check_streams(const struct capture_head *head)
{
	struct archive_stream stream, other;
	struct archive_capture_stream range;

	for (size_t i = 0; i < capture_head_streams(head); i++) {
		if (!capture_head_stream(head, i, 7, &stream, &range))
			continue;
		require(stream.id > 0 && stream.id <= INT32_MAX && stream.number <= UINT16_MAX);
		require(stream.ring_bytes <= MPROF_RING_BYTES_MAX && stream.ring_packets <= MPROF_RING_PACKETS_MAX);
		require(range.capture == 7 && range.stream == stream.id && range.last_offset <= MPROF_RING_BYTES_MAX);
		require(range.first_sequence <= range.last_sequence && range.last_sequence <= INT64_MAX);
		for (size_t k = 0; k < i && i < 64; k++)
			if (capture_head_stream(head, k, 7, &other, &range))
				require(other.id != stream.id && other.number != stream.number);
	}
	require(!capture_head_stream(head, capture_head_streams(head), 7, &stream, &range));
}

static void check_gaps(const struct capture_head *head)
{
	struct archive_gap gap;

	for (size_t i = 0; i < capture_head_gaps(head); i++) {
		if (!capture_head_gap(head, i, &gap))
			continue;
		require(gap.kind && gap.reason && gap.stream > 0 && gap.stream <= INT32_MAX);
		require(gap.after_sequence <= INT64_MAX && gap.next_sequence <= INT64_MAX);
		require(gap.after_offset <= MPROF_RING_BYTES_MAX && gap.packets <= INT64_MAX);
	}
	require(!capture_head_gap(head, capture_head_gaps(head), &gap));
}

static bool is_json(const char *text)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	bool is = json != NULL;

	json_decref(json);
	return is;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(capture_head_freep) struct capture_head *head = NULL;
	char sentence[256] = "";
	char *json = malloc(size + 1);
	int r;

	if (!json)
		return 0;
	memcpy(json, data, size);
	json[size] = '\0';
	r = capture_head_read(&head, json, sentence, sizeof(sentence));
	if (r == 0) {
		require(head != NULL);
		check_run(head);
		check_streams(head);
		check_gaps(head);
		(void)capture_head_is_cut(head);
	} else { /* a text that is no JSON, which the database does not have, counts as a lack of memory */
		require(!head && (r == -EINVAL ? sentence[0] != '\0' : r == -ENOMEM && !is_json(json)));
	}
	free(json);
	return 0;
}
