/*
 * Several traces on one time line, in one archive: a tar of Perfetto traces and a manifest with
 * their clock offsets (https://perfetto.dev/docs/reference/perfetto-manifest, version 1).
 *
 * Each guest's trace has its own times. `host.pftrace` holds only readings of dom0's clocks, if
 * there are any. All other traces are pinned to its clock, each with its own offset.
 */
#ifndef CTL_BUNDLE_H
#define CTL_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "clocks.h"
#include "output.h"
#include "perfetto.h"
#include "slices.h"
#include "writer.h"

#define BUNDLE_MEMBERS_MAX 256u

/* One stream of a trace. */
struct bundle_member {
	char *path;    /* in the archive */
	char *machine; /* the guest's name; valid UTF-8, not empty */
	char *trace;   /* as the user gave it; any bytes */
	int64_t run;   /* -1 for a file */
	int64_t stream;
	struct mprof_clocks clocks;
	int fd; /* the Perfetto trace, an unnamed file */
	uint64_t bytes;
	uint64_t events;
	int64_t offset_ns; /* from mprof_clocks_offset() */
	uint64_t uncertainty_ns;
	bool known;
};

struct bundle {
	struct bundle_member *list;
	size_t n, room;
	int32_t next_pid;
	bool realtime; /* the time line is dom0's CLOCK_REALTIME instead of its CLOCK_MONOTONIC */
};

void bundle_deinit(struct bundle *b);

/*
 * Add a member for the trace TRACE of the guest NAME. Return it, lent until the next bundle_add(),
 * or NULL without memory.
 */
struct bundle_member *bundle_add(struct bundle *b, const char *trace, const char *name, int64_t run, int64_t stream);

/* Write the events of a member. */
struct bundle_part {
	struct bundle *bundle;
	struct bundle_member *member;
	struct writer writer;
	struct perfetto perfetto;
	struct slices slices;
	struct consumer consumer; /* give it to the code that reads the trace */
};

/* Begin writing member M. Return 0 or -errno. The caller deinits P in any case. */
int bundle_part_init(struct bundle_part *p, struct bundle *b, struct bundle_member *m);
/* Finish the member behind the last event. Return 0 or -errno. */
int bundle_part_finish(struct bundle_part *p);
void bundle_part_deinit(struct bundle_part *p);

/* Choose the time line and set the offsets. Call it when all members and their clocks are known. */
void bundle_align(struct bundle *b);
/* Write the archive to O. Return 0 or -errno. */
int bundle_write(struct bundle *b, struct output *o);
/*
 * Return the contents, as --json prints them. The caller decrefs the object. Return NULL without
 * memory.
 */
json_t *bundle_json(const struct bundle *b);

#define BUNDLE_HOST	"host.pftrace"
#define BUNDLE_MANIFEST "perfetto_manifest.json"

/* Return the manifest's text. The caller frees it. Return NULL without memory. */
char *bundle_manifest(const struct bundle *b);

#endif
