/* Write: room on the disk, and readers that hold back what makes it. */
#include <errno.h>

#include "space.h"
#include "writer-state.h"

int archive_writer_free_space(struct archive_writer *w, uint64_t *bytes)
{
	return space_free(w->directory_fd, bytes);
}

bool archive_writer_has_room(struct archive_writer *w)
{
	return space_suffices(w->directory_fd, w->wal.limit);
}

int archive_writer_release_reserve(struct archive_writer *w)
{
	return space_release(w->directory_fd);
}

int archive_writer_restore_reserve(struct archive_writer *w)
{
	return space_restore(w->directory_fd, w->reserve_bytes);
}

bool archive_writer_begin_deleting(struct archive_writer *w)
{
	return hold_begin(w->hold_fd);
}

void archive_writer_end_deleting(struct archive_writer *w)
{
	hold_end(w->hold_fd);
}

int archive_writer_vacuum(struct archive_writer *w, unsigned pages, bool *more)
{
	*more = false;
	return w->is_open ? -EINVAL : wal_vacuum(&w->wal, pages, more);
}
