/*
 * This file declares an archive that holds several traces on one time line: a tar of Perfetto
 * traces, and a manifest with their clock offsets
 * (https://perfetto.dev/docs/reference/perfetto-manifest, version 1).
 *
 * The trace of each guest keeps the times of that guest's clock. `host.pftrace` contains only a
 * process called `dom0` and readings of dom0's clocks. The manifest gives for each guest's trace
 * the offset from the clock of that trace to the clock of `host.pftrace`.
 */
#ifndef CTL_BUNDLE_H
#define CTL_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "output-writer.h"
#include "output.h"
#include "perfetto.h"
#include "slices.h"
#include "stamp-clocks.h"

#define BUNDLE_MEMBERS_MAX 256u

/* A host of a fleet, and its real-time clock as its NTP knew it. All zero for the one host of a host's own server. */
struct bundle_host {
	char name[64];
	bool known;		 /* the two numbers are */
	int64_t offset_ns;	 /* to add to its clock to get the right time */
	uint64_t uncertainty_ns; /* the right time may be so much earlier or later */
};

/* One stream of a trace: one Perfetto trace in the archive. The member owns its strings. */
struct bundle_member {
	char *path;    /* path of the file in the archive */
	char *machine; /* the guest's name; valid UTF-8, not empty */
	char *trace;   /* name of the trace as on the command line; any bytes */
	int64_t run;   /* number of the run; -1 for a file */
	int64_t stream;
	struct mprof_clocks clocks;
	struct bundle_host host;
	int fd; /* the Perfetto trace, an unnamed temporary file; owned */
	uint64_t bytes;
	uint64_t events;
	int64_t offset_ns; /* ns to add to the stream's times, from mprof_clocks_offset() */
	uint64_t uncertainty_ns;
	bool known;
};

struct bundle {
	struct bundle_member *list;
	size_t n, room;
	int32_t next_pid;
	/* The time line is dom0's CLOCK_REALTIME. If false, it is dom0's CLOCK_MONOTONIC. */
	bool realtime;
};

void bundle_deinit(struct bundle *b);

/*
 * Add a member: stream STREAM of run RUN (-1 for a file) of the trace TRACE, which is of the guest
 * NAME. Return the member, valid until the next bundle_add(), or NULL without memory.
 */
struct bundle_member *bundle_add(struct bundle *b, const char *trace, const char *name, int64_t run, int64_t stream);

/* Takes the events of one member and writes them to the member's file. */
struct bundle_part {
	struct bundle *bundle;
	struct bundle_member *member;
	struct writer writer;
	struct perfetto perfetto;
	struct slices slices;
	struct consumer consumer; /* passes events to this part; give it to the code that reads the trace */
};

/* Begin writing member M. Return 0 or -errno. The caller deinits P in any case. */
int bundle_part_init(struct bundle_part *p, struct bundle *b, struct bundle_member *m);
/* Finish the member after its last event. Return 0 or -errno. */
int bundle_part_finish(struct bundle_part *p);
void bundle_part_deinit(struct bundle_part *p);

/*
 * Choose the time line and set OFFSET_NS of each member. Call this function when all members and
 * their clocks are known.
 */
void bundle_align(struct bundle *b);
/* Write the whole archive to O. Return 0 or -errno. */
int bundle_write(struct bundle *b, struct output *o);
/*
 * Return the list of members as the JSON object that `bundle --json` prints. The caller decrefs the
 * object. Return NULL without memory.
 */
json_t *bundle_json(const struct bundle *b);

#define BUNDLE_HOST	"host.pftrace"
#define BUNDLE_MANIFEST "perfetto_manifest.json"

/* Return the manifest's text. The caller frees it. Return NULL without memory. */
char *bundle_manifest(const struct bundle *b);

#endif
