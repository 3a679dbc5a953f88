/* Shared by the files that read a trace: input.c and input-file.c. */
#ifndef CTL_INPUT_STATE_H
#define CTL_INPUT_STATE_H

#include <stdbool.h>

#include "input.h"
#include "merge.h"
#include "stream-decoder.h"
#include "trace-source.h"

/* Most unpacked bytes of an archive. A small archive can contain any number of zeros. */
#define INPUT_UNPACKED_MAX (16ull << 30)

/* Store the totals of the only stream, S, which has ended. Return 0 or -ENOMEM. */
int input_note_totals(struct input *in, const struct stream_decoder *s);
/* Merge the streams of M, pass their events on, and store the totals of each. Return as merge_run(). */
int input_run_merge(struct input *in, struct merge *m);

/* Return true if the verb needs the offset of the trace's clock. */
bool input_needs_clock(const struct input *in);
/*
 * The offset of the clock was looked for: use it. Return 0; or -ECANCELED, and the reason is in
 * IN->unread.
 */
int input_settle(struct input *in);

/*
 * Read T, a file, a directory or standard input. Return 0, -errno, or an exit code. -EFBIG: an archive
 * unpacks to more than INPUT_UNPACKED_MAX bytes.
 */
int input_read_file(struct input *in, const struct trace_source *t);

#endif
