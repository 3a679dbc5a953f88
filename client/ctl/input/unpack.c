/*
 * This file unpacks compressed traces and tar archives with libarchive. Only gzip, xz and zstd are
 * accepted, around a single file or a tar. No program is run, and no file is written under a name
 * from an archive.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "unpack.h"

#define PIECE (256u << 10)

struct source {
	int fd;
	const uint8_t *head;
	size_t head_len;
	int error; /* errno of a read, or 0 */
	uint8_t piece[PIECE];
};

static struct archive *reader_free(struct archive *a)
{
	if (a)
		archive_read_free(a);
	return NULL;
}

CLEANUP_DEFINE(struct archive, reader_free)

static const struct {
	uint8_t bytes[6];
	size_t len;
} magics[] = {
	{{0x1f, 0x8b}, 2},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4},
};

bool unpack_wanted(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (len >= magics[i].len && memcmp(bytes, magics[i].bytes, magics[i].len) == 0)
			return true;
	return len >= 262 && memcmp(bytes + 257, "ustar", 5) == 0;
}

bool unpack_undecided(const uint8_t *bytes, size_t len)
{
	/*
	 * One byte identifies a packet or an s-expression log, and a pipe may have no more for now.
	 */
	return len < UNPACK_HEAD && !unpack_wanted(bytes, len) && !(len && (bytes[0] == 0xc1 || bytes[0] == '('));
}

static la_ssize_t source_read(struct archive *a, void *context, const void **bytes)
{
	struct source *s = context;
	ssize_t n;

	(void)a;
	if (s->head_len) {
		*bytes = s->head;
		n = (ssize_t)s->head_len;
		s->head_len = 0;
		return n;
	}
	do
		n = read(s->fd, s->piece, sizeof(s->piece));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		s->error = errno;
	*bytes = s->piece;
	return n;
}

/*
 * The decompressed input, which libarchive reads as a single file.
 *
 * If the first block of the decompressed input is a tar header, a second libarchive reader reads
 * the input as a tar. This code checks the header itself, because libarchive takes any block of
 * zeros for the end of a tar.
 */
struct unpacked {
	struct archive *a;
	uint8_t head[UNPACK_HEAD]; /* first bytes of the input */
	size_t head_len;
	const uint8_t *rest; /* unread bytes of the present block; borrowed from A until the next block */
	size_t rest_len;
	int status; /* status of A; ARCHIVE_OK while A may have more blocks */
};

/* Set REST to the next block. Return false at the end and at damage. */
static bool unpacked_next(struct unpacked *u)
{
	const void *block = NULL;
	la_int64_t offset;

	u->rest_len = 0;
	while (u->status >= ARCHIVE_WARN && !u->rest_len) {
		u->status = archive_read_data_block(u->a, &block, &u->rest_len, &offset);
		u->status = u->status == ARCHIVE_RETRY ? ARCHIVE_OK : u->status;
		if (u->status == ARCHIVE_EOF || u->status < ARCHIVE_WARN)
			u->rest_len = 0;
		if (u->status == ARCHIVE_EOF)
			break;
	}
	u->rest = block;
	return u->rest_len > 0;
}

/*
 * Store the first bytes of the decompressed input in HEAD: at most UNPACK_HEAD bytes, enough to
 * recognise a tar.
 */
static void unpacked_head(struct unpacked *u)
{
	while (u->head_len < UNPACK_HEAD && unpacked_next(u)) {
		size_t room = UNPACK_HEAD - u->head_len, n = u->rest_len < room ? u->rest_len : room;

		memcpy(u->head + u->head_len, u->rest, n);
		u->head_len += n;
		u->rest += n;
		u->rest_len -= n;
	}
}

/*
 * Return true if the block is a tar header. A header of today has the text "ustar". An older header
 * has at byte 148, in octal digits, the sum of the header's bytes, for which the bytes of the sum
 * count as blanks.
 */
static bool is_tar(const uint8_t *head, size_t len)
{
	unsigned long sum = 0;
	char text[9] = {0};

	if (len < UNPACK_HEAD)
		return false;
	for (size_t i = 0; i < UNPACK_HEAD; i++)
		sum += i >= 148 && i < 156 ? ' ' : head[i];
	memcpy(text, head + 148, 8);
	return memcmp(head + 257, "ustar", 5) == 0 || (head[0] && strtoul(text, NULL, 8) == sum);
}

/*
 * Read function of the tar reader: set *BYTES to the next bytes of the decompressed input, and
 * return their number.
 */
static la_ssize_t unpacked_read(struct archive *tar, void *context, const void **bytes)
{
	struct unpacked *u = context;
	size_t n = u->head_len;

	*bytes = u->head;
	u->head_len = 0;
	if (!n && (u->rest_len || unpacked_next(u))) {
		*bytes = u->rest;
		n = u->rest_len;
		u->rest_len = 0;
	}
	if (n || u->status == ARCHIVE_EOF)
		return (la_ssize_t)n;
	archive_set_error(tar, archive_errno(u->a), "%s", archive_error_string(u->a));
	return -1;
}

/* Report the reader's error. Return -errno or 1. */
static int reader_fault(struct archive *a, const struct source *s, const char *name)
{
	const char *what = archive_error_string(a);

	if (s->error)
		return -s->error;
	if (archive_errno(a) == ENOMEM)
		return -ENOMEM;
	say("%s: the packed data is damaged or cut: %s", name, what ? what : "reason unknown");
	return 1;
}

/* Pass N zeros to OPS. Some archives leave out zeros and store only the length of the hole. */
static int unpack_hole(const struct unpack_ops *ops, uint64_t n)
{
	static const uint8_t zeros[4096];
	int r = 0;

	for (; n && !r; n -= n < sizeof(zeros) ? n : sizeof(zeros))
		r = ops->bytes(ops->context, zeros, n < sizeof(zeros) ? (size_t)n : sizeof(zeros));
	return r;
}

/*
 * Pass the data of the current member to OPS block by block, so that all bytes before damage are
 * passed on.
 */
static int unpack_data(struct archive *a, const struct source *s, const char *name, const struct unpack_ops *ops)
{
	const void *block;
	la_int64_t offset, at = 0;
	size_t len;
	int r = 0, status;

	while (!r && (status = archive_read_data_block(a, &block, &len, &offset)) != ARCHIVE_EOF) {
		if (status == ARCHIVE_RETRY)
			continue;
		if (status < ARCHIVE_WARN)
			return reader_fault(a, s, name);
		if (offset > at)
			r = unpack_hole(ops, (uint64_t)(offset - at));
		if (!r && len)
			r = ops->bytes(ops->context, block, len);
		at = offset + (la_int64_t)len;
	}
	return r;
}

static int unpack_entries(struct archive *a, const struct source *s, const char *name, const struct unpack_ops *ops)
{
	struct archive_entry *entry;
	const char *path;
	int r = 0, status;

	while (!r && (status = archive_read_next_header(a, &entry)) != ARCHIVE_EOF) {
		if (status == ARCHIVE_RETRY)
			continue;
		if (status < ARCHIVE_WARN)
			return reader_fault(a, s, name);
		path = archive_entry_pathname(entry);
		if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || !path)
			continue;
		r = ops->member(ops->context, path);
		if (r == 0)
			r = unpack_data(a, s, name, ops);
		else if (r == 1)
			r = 0;
	}
	return r;
}

/* Pass the decompressed input, which is no archive, to OPS block by block. */
static int unpack_file(struct unpacked *u, const struct source *s, const char *name, const struct unpack_ops *ops)
{
	int r = u->head_len ? ops->bytes(ops->context, u->head, u->head_len) : 0;

	while (!r && (u->rest_len || unpacked_next(u))) {
		r = ops->bytes(ops->context, u->rest, u->rest_len);
		u->rest_len = 0;
	}
	return r || u->status == ARCHIVE_EOF ? r : reader_fault(u->a, s, name);
}

static int unpack_tar(struct unpacked *u, const struct source *s, const char *name, const struct unpack_ops *ops)
{
	CLEANUP(reader_freep) struct archive *tar = archive_read_new();

	if (!tar)
		return -ENOMEM;
	if (archive_read_support_format_tar(tar) != ARCHIVE_OK)
		return -ENOTSUP;
	if (archive_read_open(tar, u, NULL, unpacked_read, NULL) != ARCHIVE_OK)
		return reader_fault(tar, s, name);
	return unpack_entries(tar, s, name, ops);
}

int unpack_run(int fd, const uint8_t *head, size_t len, const char *name, const struct unpack_ops *ops)
{
	CLEANUP(freep) struct source *s = calloc(1, sizeof(*s));
	CLEANUP(reader_freep) struct archive *a = archive_read_new();
	struct unpacked u = {.a = a, .status = ARCHIVE_OK};
	struct archive_entry *entry;
	int status;

	if (!s || !a)
		return -ENOMEM;
	s->fd = fd;
	s->head = head;
	s->head_len = len;
	if (archive_read_support_filter_gzip(a) != ARCHIVE_OK || archive_read_support_filter_xz(a) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(a) != ARCHIVE_OK || archive_read_support_format_empty(a) != ARCHIVE_OK ||
	    archive_read_support_format_raw(a) != ARCHIVE_OK)
		return -ENOTSUP;
	if (archive_read_open(a, s, NULL, source_read, NULL) != ARCHIVE_OK)
		return reader_fault(a, s, name);
	while ((status = archive_read_next_header(a, &entry)) == ARCHIVE_RETRY) {
	}
	if (status == ARCHIVE_EOF)
		return 0;
	if (status < ARCHIVE_WARN)
		return reader_fault(a, s, name);
	unpacked_head(&u);
	return is_tar(u.head, u.head_len) ? unpack_tar(&u, s, name, ops) : unpack_file(&u, s, name, ops);
}
