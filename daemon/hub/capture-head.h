/*
 * The head of a capture on the hub: the JSON in which its host describes it (begin_capture in
 * schema/fleet/README.md).
 */
#ifndef HUB_CAPTURE_HEAD_H
#define HUB_CAPTURE_HEAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive.h"
#include "cleanup.h"

struct capture_head;

/*
 * Read JSON, a head, which the database has as JSON. *HP is the caller's. Return 0; -EINVAL if it is no head, with a
 * sentence in SENTENCE (SIZE bytes); or -ENOMEM. A member that may be missing and has another type counts as missing.
 */
int capture_head_read(struct capture_head **hp, const char *json, char *sentence, size_t size);
struct capture_head *capture_head_free(struct capture_head *head);
CLEANUP_DEFINE(struct capture_head, capture_head_free)

/* Describe the run, as ended when the capture was taken. Strings are valid until HEAD is freed. */
struct archive_run capture_head_run(const struct capture_head *head);
/* Describe the capture NUMBER, without its context. Strings as above. */
struct archive_capture capture_head_capture(const struct capture_head *head, int64_t number);

/* Return how many streams and gaps the head lists. */
size_t capture_head_streams(const struct capture_head *head);
size_t capture_head_gaps(const struct capture_head *head);
/*
 * Describe the stream at place I, from 0, and the range that the capture NUMBER has of it. Return
 * false if the entry is no stream, or if an entry before it has the same identifier or number.
 */
bool capture_head_stream(const struct capture_head *head, size_t i, int64_t number, struct archive_stream *stream,
			 struct archive_capture_stream *range);
/* Return false if the host had deleted packets of that range before they were sent. */
bool capture_head_has_all(const struct capture_head *head, size_t i);
/* Describe the gap at place I. Its times are 0. Return false if the entry is no gap. */
bool capture_head_gap(const struct capture_head *head, size_t i, struct archive_gap *gap);
/* Return whether the capture may have had streams of which nothing is left. */
bool capture_head_lacks(const struct capture_head *head);
/* Return whether the head does not list all streams and gaps, as they were too many. */
bool capture_head_is_cut(const struct capture_head *head);

#endif
