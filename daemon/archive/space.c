/*
 * Space on the disk.
 *
 * On a full disk even a deletion needs space, for the write-ahead log. The reserve file occupies
 * that space from the beginning. It is deleted so that deletion can run, and created again when
 * there is space for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive.h"
#include "cleanup.h"
#include "space.h"
#include "store.h"

#define RESERVE_NAME "reserve"
#define VACUUM_BYTES ((uint64_t)256 << 16)
#define READER_MS    60 /* a reader's transaction takes 50 ms at most */

bool space_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int space_free(const struct store *s, uint64_t *bytes)
{
	struct statvfs st;

	if (fstatvfs(s->directory_fd, &st) < 0)
		return -errno;
	*bytes = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

bool space_is_small(const struct store *s, uint64_t want, char *sentence, size_t size)
{
	const unsigned mib = 20;
	struct statvfs st;
	uint64_t bytes;

	if (fstatvfs(s->directory_fd, &st) < 0)
		return false;
	bytes = (uint64_t)st.f_blocks * st.f_frsize;
	if (!bytes || bytes > want)
		return false;
	snprintf(sentence, size,
		 "the file system of %s has %llu MiB in all, and free-space, twice wal-limit and reserve are %llu MiB: "
		 "what is archived is soon deleted; lower them, or give the archive a larger file system",
		 s->directory, (unsigned long long)(bytes >> mib), (unsigned long long)(want >> mib));
	return true;
}

bool space_suffices(const struct store *s)
{
	struct statvfs st;

	return fstatvfs(s->directory_fd, &st) == 0 &&
	       (st.f_bavail >= st.f_blocks / 8 || (uint64_t)st.f_bavail * st.f_frsize >= 2 * s->wal.limit);
}

int space_release_reserve(struct store *s)
{
	if (unlinkat(s->directory_fd, RESERVE_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/*
 * Return whether the reserve file exists with its full size. It may be shorter, if the disk was
 * full or the process was killed while it was created.
 */
static bool has_reserve(int directory, uint64_t bytes)
{
	struct stat st;

	return fstatat(directory, RESERVE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == bytes && (uint64_t)st.st_blocks * 512 >= bytes;
}

int space_restore_reserve(struct store *s)
{
	uint64_t bytes = s->reserve_bytes;
	CLEANUP(closep) int fd = -1;
	uint64_t room = 0;
	int r;

	if (bytes && has_reserve(s->directory_fd, bytes))
		return 0;
	r = space_release_reserve(s);
	if (r < 0 || bytes == 0)
		return r;
	r = space_free(s, &room);
	if (r < 0)
		return r;
	if (room < bytes)
		return ARCHIVE_E_FULL;
	fd = openat(s->directory_fd, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return errno == ENOSPC || errno == EDQUOT ? ARCHIVE_E_FULL : -errno;
	r = posix_fallocate(fd, 0, (off_t)bytes);
	if (r == 0)
		return 0;
	/* Delete the incomplete reserve file. */
	(void)space_release_reserve(s);
	return r == ENOSPC || r == EDQUOT || r == EFBIG ? ARCHIVE_E_FULL : -r;
}

/* ---- making space ---------------------------------------------------------------------------- */

int space_vacuum(struct store *s, uint64_t bytes, bool *more)
{
	int r;

	*more = false;
	if (s->in_transaction)
		return -EINVAL;
	r = wal_vacuum(&s->wal, bytes, more);
	if (r < 0)
		failure_note(&s->failure, s->db, sqlite3_extended_errcode(s->db), r);
	return r;
}

bool space_is_held(struct store *s)
{
	return wal_is_held(&s->wal, READER_MS);
}

int space_give_back(struct store *s, uint64_t want, uint64_t *has)
{
	uint64_t had = 0;
	bool more = true;
	int r;

	*has = 0;
	r = space_free(s, has);
	while (r == 0 && more && *has < want && *has >= had) {
		had = *has + 1;
		r = space_vacuum(s, VACUUM_BYTES, &more);
		if (r == 0)
			r = space_free(s, has);
	}
	return r;
}

int space_delete_until(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context, bool *more)
{
	uint64_t has, had = 0;
	int r = space_give_back(s, want, &has);

	*more = true;
	while (r == 0 && *more && steps-- && has < want && has >= had) {
		had = has + 1;
		r = delete (context, want, more);
		if (r == 0)
			r = space_give_back(s, want, &has);
	}
	return r;
}

bool space_make(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context)
{
	bool more = true;
	int r = space_release_reserve(s);

	if (r == 0)
		r = space_vacuum(s, 0, &(bool){false});
	if (r == 0)
		r = space_delete_until(s, want, steps, delete, context, &more);
	/*
	 * A disk may be too small for the reserve file. If nothing is left to delete, the archive
	 * goes on without a reserve file.
	 */
	s->full = (space_restore_reserve(s) != 0 && (r != 0 || more)) || !space_suffices(s);
	return !s->full;
}

bool space_is_full(const struct store *s)
{
	return s->full;
}

/* ---- readers delay deletion ------------------------------------------------------------------ */

int hold_take(const char *path, int *fd)
{
	CLEANUP(closep) int mine = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (mine < 0)
		return -errno;
	if (flock(mine, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? ARCHIVE_E_BUSY : -errno;
	*fd = TAKE_FD(mine);
	return 0;
}

int hold_open(int directory, const char *name, int *fd)
{
	CLEANUP(closep) int mine = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (mine < 0 || fchmod(mine, 0640) < 0) /* the umask may have taken the group's right to read */
		return -errno;
	*fd = TAKE_FD(mine);
	return 0;
}

bool hold_begin(int fd)
{
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void hold_end(int fd)
{
	if (fd >= 0)
		flock(fd, LOCK_UN);
}
