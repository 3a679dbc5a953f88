/*
 * Several traces on one time line, as one archive: a tar of Perfetto traces with a manifest that says how their clocks stand to each
 * other (https://perfetto.dev/docs/reference/perfetto-manifest, version 1).
 *
 * Each guest's trace has its own times.  `host.pftrace` has none but readings of dom0's clocks, where there are some: all others are pinned to
 * its clock, each by its own offset.
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

/* One stream of one trace. */
struct bundle_member {
	char *path;    /* in the archive */
	char *machine; /* the guest's name, valid UTF-8, not empty */
	char *trace;   /* as the person named it; any bytes */
	int64_t run;   /* -1 = of no guest */
	int64_t stream;
	struct mprof_clocks clocks;
	int fd; /* its bytes, a file without a name */
	uint64_t bytes;
	uint64_t events;
	int64_t offset_ns; /* as mprof_clocks_offset() says */
	uint64_t uncertainty_ns;
	bool known;
};

struct bundle {
	struct bundle_member *list;
	size_t n, room;
	int32_t next_pid;
	bool realtime; /* the time line is dom0's CLOCK_REALTIME, and not its CLOCK_MONOTONIC */
};

void bundle_deinit(struct bundle *b);

/* One more, of the trace TRACE of the guest NAME; lent until the next one is added.  NULL without memory. */
struct bundle_member *bundle_add(struct bundle *b, const char *trace, const char *name, int64_t run, int64_t stream);

/* What writes the events of a member, as long as it takes. */
struct bundle_part {
	struct bundle *bundle;
	struct bundle_member *member;
	struct writer writer;
	struct perfetto perfetto;
	struct slices slices;
	struct consumer consumer; /* to be given to whatever reads the trace */
};

/* 0 or -errno.  Deinit it in any case. */
int bundle_part_init(struct bundle_part *p, struct bundle *b, struct bundle_member *m);
/* All of the trace came.  0 or -errno. */
int bundle_part_finish(struct bundle_part *p);
void bundle_part_deinit(struct bundle_part *p);

/* All are there, with their clocks: settle the time line and the offsets. */
void bundle_align(struct bundle *b);
/* Write the archive to O.  0 or -errno. */
int bundle_write(struct bundle *b, struct output *o);
/* What is in it, as the verb's --json has it; to be decref'd, NULL without memory. */
json_t *bundle_json(const struct bundle *b);

/* The manifest of a bundle. */

#define BUNDLE_HOST	"host.pftrace"
#define BUNDLE_MANIFEST "perfetto_manifest.json"

/* Its text, to be freed; NULL without memory. */
char *bundle_manifest(const struct bundle *b);

#endif
