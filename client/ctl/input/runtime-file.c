/*
 * This file reads the ring files of OCaml 5. libmprof reads and translates them (<mprof/runtime.h>). The
 * file may be the ring of a program that runs, so it is read in the order that the library asks for.
 *
 * The streams of a file are of one guest: a fibre of one domain can resolve a promise of another. Each file is
 * one process, and so a guest of its own: the same id in two files is two threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/runtime.h>

#include "cleanup.h"
#include "ctl.h"
#include "output-writer.h"
#include "output.h"
#include "runtime-file.h"
#include "seed.h"

#define DAMAGES_REPORTED 100u

CLEANUP_DEFINE(struct mprof_runtime, mprof_runtime_free)
CLEANUP_DEFINE(struct mprof_runtime_translator, mprof_runtime_translator_free)
CLEANUP_DEFINE(struct mprof_runtime_packets, mprof_runtime_packets_free)

struct runtime_file {
	const char *name;
	int fd;
	/* For each ring: the temporary file of its packets, 0 = none; owned until the merge has it. */
	int *spools;
	uint32_t rings;
	uint64_t damages;
	enum mprof_runtime_numbering numbering;
};

static void runtime_file_deinit(struct runtime_file *f)
{
	for (uint32_t i = 0; f->spools && i < f->rings; i++)
		if (f->spools[i])
			close(f->spools[i]);
	free(f->spools);
}

static bool load(void *context, uint64_t offset, void *to, size_t words)
{
	const struct runtime_file *f = context;
	size_t left = words * 8;
	char *p = to;
	ssize_t n;

	while (left) {
		n = pread(f->fd, p, left, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		left -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

/* Write the packets of RING to its temporary file. Descriptor 0 is never one, so it means none. */
static int write_packets(void *context, uint32_t ring, const void *bytes, size_t len)
{
	struct runtime_file *f = context;

	if (!f->spools[ring]) {
		int fd = spool_file();

		if (fd < 0)
			return fd;
		f->spools[ring] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		close(fd);
		if (f->spools[ring] < 0) {
			f->spools[ring] = 0;
			return -errno;
		}
	}
	return write_all(f->spools[ring], bytes, len);
}

/* The functions that stand before those of the packets, which report nothing to people. */
struct reporter {
	struct runtime_file *file;
	struct mprof_runtime_events to;
};

static int on_event(void *context, uint32_t ring, const struct mprof_raw_event *e)
{
	struct reporter *r = context;

	return r->to.event(r->to.context, ring, e);
}

static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	struct reporter *r = context;

	say("%s: ring %" PRIu32 ": the program overwrote %" PRIu64 " words before they were read", r->file->name, ring,
	    words);
	return r->to.lost(r->to.context, ring, words);
}

static int on_damage(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage)
{
	struct reporter *r = context;
	uint64_t n = ++r->file->damages;

	if (n <= DAMAGES_REPORTED)
		say("%s: ring %" PRIu32 ", word %" PRIu64 ": %s", r->file->name, ring, position,
		    mprof_runtime_damage_text(damage));
	if (n == DAMAGES_REPORTED)
		say("%s: further damage is not listed", r->file->name);
	return 0;
}

/* Read all rings of F into temporary files. Return 0 or -errno. */
static int spool(struct runtime_file *f, const struct mprof_runtime_memory *memory,
		 const struct mprof_runtime_layout *layout)
{
	CLEANUP(mprof_runtime_packets_freep)
	struct mprof_runtime_packets *packets = mprof_runtime_packets_new(write_packets, f);
	CLEANUP(mprof_runtime_freep) struct mprof_runtime *reader = mprof_runtime_new(memory, layout);
	CLEANUP(mprof_runtime_translator_freep) struct mprof_runtime_translator *translator = NULL;
	struct reporter reporter = {.file = f};
	struct mprof_runtime_events events = {
		.event = on_event, .lost = on_lost, .damage = on_damage, .context = &reporter};
	struct mprof_runtime_sink sink;
	int r;

	translator = mprof_runtime_translator_new(&events, seed_new(f));
	if (!packets || !reader || !translator)
		return -ENOMEM;
	mprof_runtime_number(reader, f->numbering);
	reporter.to = mprof_runtime_packets_events(packets, layout->ring_words);
	sink = mprof_runtime_translator_sink(translator);
	if (mprof_runtime_read(reader, &sink, &r) != MPROF_OK)
		return -ENOMEM;
	if (mprof_runtime_totals(reader)->unsure)
		say("note: %s: the runtime's numbering is unknown, and %" PRIu64
		    " phases and counters may have other names; --runtime names it",
		    f->name, mprof_runtime_totals(reader)->unsure);
	r = r ? r : mprof_runtime_translator_end(translator);
	return r ? r : mprof_runtime_packets_end(packets);
}

/* Give the temporary files to M, as streams of a guest of their own. Return 0 or -errno. */
static int add_streams(struct runtime_file *f, struct merge *m)
{
	unsigned int first = m->n, packets = m->packets;
	int r = 0, fd;

	for (uint32_t i = 0; i < f->rings && !r; i++) {
		CLEANUP(freep) char *name = NULL;

		if (!f->spools[i])
			continue;
		if (asprintf(&name, "%s ring %" PRIu32, f->name, i) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		fd = f->spools[i];
		f->spools[i] = 0;
		r = merge_add(m, name, fd);
		if (!r)
			m->guest[m->n - 1] = first;
	}
	m->packets = packets;
	return r;
}

int runtime_file_add(struct merge *m, const char *name, int fd, bool *is_runtime)
{
	CLEANUP(runtime_file_deinit) struct runtime_file f = {.name = name, .fd = fd, .numbering = m->numbering};
	const struct mprof_runtime_memory memory = {.load = load, .context = &f};
	struct mprof_runtime_layout layout;
	struct stat st;
	int r;

	*is_runtime = fstat(fd, &st) == 0 && st.st_size > 0 &&
		      mprof_runtime_layout_load(&layout, &memory, (uint64_t)st.st_size) == MPROF_OK;
	if (!*is_runtime)
		return 0;
	f.rings = layout.rings;
	f.spools = calloc(f.rings, sizeof(*f.spools));
	if (!f.spools)
		return -ENOMEM;
	r = spool(&f, &memory, &layout);
	m->damages += f.damages;
	return r ? r : add_streams(&f, m);
}
