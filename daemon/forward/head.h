/* The heads of captures and runs: JSON for the hub (schema/fleet/README.md), of values that do not change. */
#ifndef FORWARD_HEAD_H
#define FORWARD_HEAD_H

#include <stdbool.h>

#include "reader.h"

/* A capture with its ranges, sorted by stream. A zeroed one may be passed to head_deinit(). */
struct head {
	int64_t run;	     /* of the capture */
	bool is_end;	     /* it was taken because the guest ended or was suspended */
	uint64_t mono, real; /* when the capture was taken, ns on both clocks */
	struct archive_capture_stream *ranges;
	size_t n_ranges;
	char *json;
};

/*
 * Read the head of CAPTURE, which has "cut" if it would be too large with all gaps and streams. Return 0,
 * -ENOMEM, or an error of the reader. ARCHIVE_E_ABSENT: there is no such capture.
 */
int head_of_capture(struct reader *r, int64_t capture, struct head *head);
void head_deinit(struct head *head);

/* The memory profile of which a part is sent with a capture. Times are ns on both clocks; 0 = not known. */
struct head_profile {
	int64_t recording; /* 0 = none */
	uint64_t began_real, began_mono, connected_mono;
	uint64_t ended_real, ended_mono; /* 0, too, if the profile had not ended when the part was chosen */
};

/* Write the JSON of HEAD with PROFILE into *JSON, which the caller frees. Return 0 or -ENOMEM. */
int head_with_profile(const struct head *head, const struct head_profile *profile, char **json);

/* Read the head of RUN into *JSON, which the caller frees. *STREAMS: how many streams it has. */
int head_of_run(struct reader *r, int64_t run, char **json, size_t *streams);

#define MONTH_BYTES 11u
/* Write the first day of the month (UTC) of REAL, CLOCK_REALTIME ns, as 2026-11-01. */
void month_of(uint64_t real, char month[MONTH_BYTES]);

#endif
