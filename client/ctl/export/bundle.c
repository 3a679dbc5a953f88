/*
 * This file writes the archive of `mprofctl bundle`. Each guest's Perfetto trace is first written
 * to an unnamed temporary file, because a tar file has the length of each member in front of the
 * member.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "bundle.h"
#include "cleanup.h"
#include "exporter.h"
#include "json-whole.h"
#include "json.h"
#include "output.h"
#include "seed.h"

/*
 * The bundle's manifest has version 1 of Perfetto's format. The key `sync_to` of a guest's file names the
 * reference clock: a clock of `host.pftrace`. The clock of the guest's file reads T when the
 * reference clock reads T + offset_ns. Readers skip keys that they do not know, so mprof's own data
 * about a file is under the key `mprof`.
 */

static const char *clock_name(const struct bundle *b)
{
	return b->realtime ? "REALTIME" : "MONOTONIC";
}

static json_t *text(const char *s)
{
	return text_json(s, strlen(s));
}

static json_t *number_or_null(bool known, uint64_t number)
{
	/* json_int_t is signed, so write a number above INT64_MAX as null. */
	return known && number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

/* Return the JSON object that describes M in the manifest and in the output of `bundle --json`. */
static json_t *member_json(const struct bundle_member *m)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:b}", "trace", text(m->trace), "run",
			 number_or_null(m->run >= 0, (uint64_t)m->run), "stream",
			 number_or_null(m->run >= 0, (uint64_t)m->stream), "events", (json_int_t)m->events,
			 "offset_known", (int)m->known, "offset_ns", (json_int_t)m->offset_ns, "uncertainty_ns",
			 number_or_null(m->known, m->uncertainty_ns), "clock_stepped", (int)m->clocks.stepped);
}

static json_t *file_json(const struct bundle *b, const struct bundle_member *m)
{
	return json_pack("{s:s, s:{s:o}, s:{s:{s:s, s:s}, s:I}, s:o}", "path", m->path, "machine", "name",
			 text(m->machine), "clocks", "sync_to", "file", BUNDLE_HOST, "clock", clock_name(b),
			 "offset_ns", (json_int_t)m->offset_ns, "mprof", member_json(m));
}

char *bundle_manifest(const struct bundle *b)
{
	CLEANUP(freep) char *inner = NULL;
	json_t *files = json_array(), *json;
	char *all = NULL;
	size_t i;
	int n = -1;

	json_add_item(&files, json_pack("{s:s, s:{s:s}}", "path", BUNDLE_HOST, "machine", "name", "dom0"));
	for (i = 0; i < b->n; i++)
		if (json_array_append_new(files, file_json(b, &b->list[i])))
			break;
	json = i == b->n ? json_pack("{s:i, s:{s:s, s:s}, s:O}", "version", 1, "trace_time", "clock", clock_name(b),
				     "file", BUNDLE_HOST, "files", files)
			 : NULL;
	json_decref(files);
	inner = json ? json_text(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	/* Perfetto detects the manifest by its first bytes, which allow no space. */
	if (inner)
		n = asprintf(&all, "{\"perfetto_manifest\":%s}\n", inner);
	return n < 0 ? NULL : all;
}

json_t *bundle_json(const struct bundle *b)
{
	json_t *files = json_array(), *file;

	for (size_t i = 0; i < b->n; i++) {
		file = member_json(&b->list[i]);
		json_add_member(&file, "file", json_string(b->list[i].path));
		json_add_member(&file, "name", text(b->list[i].machine));
		if (json_array_append_new(files, file)) {
			json_decref(files);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o}", "clock", clock_name(b), "traces", files);
}

#define NAME_MAX_BYTES 60u
#define COPY_BYTES     (256u << 10)

void bundle_deinit(struct bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->list[i].path);
		free(b->list[i].machine);
		free(b->list[i].trace);
		closep(&b->list[i].fd);
	}
	free(b->list);
	*b = (struct bundle){0};
}

static bool is_taken(const struct bundle *b, const char *path)
{
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->list[i].path, path) == 0)
			return true;
	return strcmp(path, BUNDLE_HOST) == 0;
}

/*
 * Return a path for a member that differs from all other paths in the archive. Replace by `_` each
 * byte that is not a letter, digit, `-`, `_` or `.`, and a dot in front, because archive readers
 * skip hidden files. The caller frees the path. Return NULL without memory.
 */
static char *member_path(const struct bundle *b, const char *name)
{
	char base[NAME_MAX_BYTES + 1], *path = NULL;
	unsigned int n = 1;

	snprintf(base, sizeof(base), "%s", *name ? name : "_");
	for (unsigned int i = 0; base[i]; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", base[i]) ||
		    (!i && base[i] == '.'))
			base[i] = '_';
	do {
		free(path);
		path = NULL;
		if ((n == 1 ? asprintf(&path, "%s.pftrace", base) : asprintf(&path, "%s-%u.pftrace", base, n)) < 0)
			return NULL;
		n++;
	} while (is_taken(b, path));
	return path;
}

/*
 * Return NAME as valid UTF-8, or `?` if NAME is empty. The caller frees the result. Return NULL
 * without memory.
 */
static char *machine_name(const char *name)
{
	CLEANUP(utf8_deinit) struct utf8 u = {0};

	if (utf8_set(&u, *name ? name : "?", *name ? strlen(name) : 1))
		return NULL;
	return strndup(u.text, u.bytes);
}

struct bundle_member *bundle_add(struct bundle *b, const char *trace, const char *name, int64_t run, int64_t stream)
{
	struct bundle_member *m;
	size_t room = b->room ? b->room * 2 : 8;

	if (b->n == b->room) {
		m = realloc(b->list, room * sizeof(*m));
		if (!m)
			return NULL;
		b->list = m;
		b->room = room;
	}
	m = &b->list[b->n];
	*m = (struct bundle_member){.run = run, .stream = stream, .fd = -1};
	m->path = member_path(b, name);
	m->machine = machine_name(name);
	m->trace = strdup(trace);
	if (m->path && m->machine && m->trace) {
		b->n++;
		return m;
	}
	free(m->path);
	free(m->machine);
	free(m->trace);
	return NULL;
}

int bundle_part_init(struct bundle_part *p, struct bundle *b, struct bundle_member *m)
{
	*p = (struct bundle_part){.bundle = b, .member = m};
	m->fd = spool_file();
	if (m->fd < 0)
		return m->fd;
	if (!writer_init(&p->writer, m->fd))
		return -ENOMEM;
	perfetto_init(&p->perfetto, &p->writer, b->next_pid + 1);
	slices_init(&p->slices, &p->perfetto.ops, m->machine, seed_new(p), spool_file);
	p->consumer = slices_consumer(&p->slices);
	return 0;
}

int bundle_part_finish(struct bundle_part *p)
{
	struct stat st;
	int r = slices_finish(&p->slices);

	r = r ? r : writer_flush(&p->writer);
	if (r || fstat(p->member->fd, &st) < 0)
		return r ? r : -errno;
	slices_report_refused(&p->slices);
	p->member->bytes = (uint64_t)st.st_size;
	p->member->events = p->slices.events;
	p->bundle->next_pid += (int32_t)p->slices.streams;
	return 0;
}

void bundle_part_deinit(struct bundle_part *p)
{
	if (!p->member)
		return;
	slices_deinit(&p->slices);
	perfetto_deinit(&p->perfetto);
	writer_deinit(&p->writer);
}

/* Turn the offset of M to its host's clock into one to the right time, as far as the host knows it. */
static void correct_host(struct bundle_member *m)
{
	const struct bundle_host *h = &m->host;

	if (!h->name[0] || !m->known)
		return;
	if (!h->known || h->uncertainty_ns > INT64_MAX / 4) {
		m->uncertainty_ns = UINT64_MAX;
		return;
	}
	/* The true offset is at most UNCERTAINTY_NS smaller. */
	m->offset_ns += h->offset_ns + (int64_t)h->uncertainty_ns;
	if (m->uncertainty_ns <= INT64_MAX)
		m->uncertainty_ns += 2 * h->uncertainty_ns;
}

/*
 * CLOCK_MONOTONIC starts again at a reboot of dom0, and each host has its own. So if dom0 rebooted
 * between two members, or if they are of several hosts, use CLOCK_REALTIME for all members.
 */
void bundle_align(struct bundle *b)
{
	const struct mprof_clocks *first = NULL;

	for (size_t i = 0; i < b->n; i++) {
		const struct mprof_clocks *c = &b->list[i].clocks;

		b->realtime = b->realtime || strcmp(b->list[i].host.name, b->list[0].host.name) != 0;
		if (!c->stamps)
			continue;
		first = first ? first : c;
		b->realtime = b->realtime || mprof_clocks_rebooted(c, first);
	}
	for (size_t i = 0; i < b->n; i++) {
		b->list[i].known = mprof_clocks_offset(&b->list[i].clocks, b->realtime, &b->list[i].offset_ns,
						       &b->list[i].uncertainty_ns);
		if (b->realtime)
			correct_host(&b->list[i]);
	}
}

/*
 * Write `host.pftrace` to an unnamed temporary file: a process called `dom0`, and for each guest
 * the newest reading of dom0's two clocks. Set *FD to the file, which the caller closes also after
 * an error, and *BYTES to its size. Return 0 or -errno.
 */
static int write_host(const struct bundle *b, int *fd, uint64_t *bytes)
{
	static const char name[] = "dom0";
	const struct slice_track track = {
		.kind = TRACK_PROCESS, .track = 1, .process = 1, .name = name, .name_bytes = sizeof(name) - 1};
	struct writer writer = {0};
	struct perfetto p;
	struct stat st;
	bool written = false;
	int r;

	*fd = spool_file();
	if (*fd < 0)
		return *fd;
	if (!writer_init(&writer, *fd))
		return -ENOMEM;
	perfetto_init(&p, &writer, b->next_pid + 1);
	r = p.ops.track(p.ops.context, &track);
	for (size_t i = 0; i < b->n && !r && !(written && b->realtime); i++) {
		/*
		 * With REALTIME, dom0 rebooted between the members, and each boot has another
		 * offset between the two clocks. Write only the first reading then.
		 */
		if (b->list[i].clocks.stamps)
			r = perfetto_clocks(&p, b->list[i].clocks.latest.mono, b->list[i].clocks.latest.real);
		written = written || b->list[i].clocks.stamps;
	}
	r = r ? r : writer_flush(&writer);
	perfetto_deinit(&p);
	writer_deinit(&writer);
	if (!r && fstat(*fd, &st) < 0)
		return -errno;
	*bytes = r ? 0 : (uint64_t)st.st_size;
	return r;
}

/* ---- the archive */
struct tar_writer {
	struct archive *archive;
	struct output *output;
	int error; /* -errno of a write */
	char *buf; /* COPY_BYTES bytes */
};

static la_ssize_t to_output(struct archive *a, void *context, const void *bytes, size_t len)
{
	struct tar_writer *t = context;

	(void)a;
	t->error = t->error ? t->error : output_write(t->output, bytes, len);
	return t->error ? -1 : (la_ssize_t)len;
}

/* Return the -errno of the failed write to the output, or else libarchive's error. */
static int complaint(const struct tar_writer *t)
{
	int error = archive_errno(t->archive);

	return t->error ? t->error : error > 0 ? -error : -EIO;
}

static int put_head(struct tar_writer *t, const char *path, uint64_t bytes)
{
	struct archive_entry *e = archive_entry_new();
	int r;

	if (!e)
		return -ENOMEM;
	archive_entry_set_pathname(e, path);
	archive_entry_set_size(e, (la_int64_t)bytes);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	r = archive_write_header(t->archive, e) == ARCHIVE_OK ? 0 : complaint(t);
	archive_entry_free(e);
	return r;
}

static int put_bytes(struct tar_writer *t, const char *bytes, size_t len)
{
	return archive_write_data(t->archive, bytes, len) == (la_ssize_t)len ? 0 : complaint(t);
}

static int put_file(struct tar_writer *t, const char *path, int fd, uint64_t bytes)
{
	int r = put_head(t, path, bytes);
	uint64_t at = 0;

	while (!r && at < bytes) {
		ssize_t n = pread(fd, t->buf, COPY_BYTES, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = put_bytes(t, t->buf, (size_t)n);
		at += (uint64_t)n;
	}
	return r;
}

static int put_all(struct bundle *b, struct tar_writer *t)
{
	CLEANUP(freep) char *manifest = bundle_manifest(b);
	CLEANUP(closep) int host = -1;
	uint64_t bytes = 0;
	int r = manifest ? write_host(b, &host, &bytes) : -ENOMEM;

	r = r ? r : put_head(t, BUNDLE_MANIFEST, strlen(manifest));
	r = r ? r : put_bytes(t, manifest, strlen(manifest));
	r = r ? r : put_file(t, BUNDLE_HOST, host, bytes);
	for (size_t i = 0; i < b->n && !r; i++)
		r = put_file(t, b->list[i].path, b->list[i].fd, b->list[i].bytes);
	if (!r && archive_write_close(t->archive) != ARCHIVE_OK)
		r = complaint(t);
	return r;
}

int bundle_write(struct bundle *b, struct output *o)
{
	CLEANUP(freep) char *buf = malloc(COPY_BYTES);
	struct tar_writer t = {.archive = archive_write_new(), .output = o, .buf = buf};
	int r = -ENOMEM;

	if (t.archive && buf) {
		/* The format is ustar; a member of 8 GiB or more gets a pax header. */
		archive_write_set_format_pax_restricted(t.archive);
		archive_write_set_bytes_in_last_block(t.archive, 1);
		r = archive_write_open(t.archive, &t, NULL, to_output, NULL) == ARCHIVE_OK ? put_all(b, &t)
											   : complaint(&t);
	}
	/* After a failure archive_write_free() must not write the rest to the output. */
	t.error = r;
	archive_write_free(t.archive);
	return r;
}
