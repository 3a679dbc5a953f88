/*
 * Room on the disk.
 *
 * On a full disk even deleting needs room, for the WAL.  The reserve file holds that room from the beginning: it is
 * removed so that deletion can run, and made again when there is twice as much room as it takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "writer-state.h"

#define RESERVE_NAME "reserve"

int archive_writer_free_space(struct archive_writer *w, uint64_t *bytes)
{
	struct statvfs st;

	if (fstatvfs(w->directory_fd, &st) < 0)
		return -errno;
	*bytes = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

int archive_writer_release_reserve(struct archive_writer *w)
{
	if (unlinkat(w->directory_fd, RESERVE_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* Is it there, with all of its room?  One that was cut short by a full disk or a kill is not. */
static bool has_reserve(const struct archive_writer *w)
{
	struct stat st;

	return fstatat(w->directory_fd, RESERVE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == w->reserve_bytes && (uint64_t)st.st_blocks * 512 >= w->reserve_bytes;
}

int archive_writer_restore_reserve(struct archive_writer *w)
{
	CLEANUP(closep) int fd = -1;
	uint64_t room = 0;
	int r;

	if (w->reserve_bytes && has_reserve(w))
		return 0;
	r = archive_writer_release_reserve(w);
	if (r < 0 || w->reserve_bytes == 0)
		return r;
	r = archive_writer_free_space(w, &room);
	if (r < 0)
		return r;
	if (room / 2 < w->reserve_bytes)
		return ARCHIVE_E_FULL;
	fd = openat(w->directory_fd, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return errno == ENOSPC || errno == EDQUOT ? ARCHIVE_E_FULL : -errno;
	r = posix_fallocate(fd, 0, (off_t)w->reserve_bytes);
	if (r == 0)
		return 0;
	(void)archive_writer_release_reserve(
		w); /* half of it would be taken for the whole by nobody; the room is better free */
	return r == ENOSPC || r == EDQUOT || r == EFBIG ? ARCHIVE_E_FULL : -r;
}

int archive_writer_vacuum(struct archive_writer *w, unsigned pages)
{
	char sql[64];
	int64_t unused = 0;
	int r;

	if (w->is_open)
		return -EINVAL;
	/* Without an unused page there is nothing to give back, and a checkpoint would write the hot pages once more. */
	r = database_number(w->db, "PRAGMA freelist_count", &unused);
	if (r != 0 || (pages && unused == 0))
		return r;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
	r = pages ? database_run(w->db, sql) : 0;
	if (r == 0) /* the room is given back when the archive's new end gets from the WAL into the file */
		writer_truncate_wal(w, 5);
	return r;
}
