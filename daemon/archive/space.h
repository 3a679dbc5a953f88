/* Room on the disk of an archive, whose directory is open as DIRECTORY. */
#ifndef ARCHIVE_SPACE_H
#define ARCHIVE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* Free bytes of its file system.  0 or -errno. */
int space_free(int directory, uint64_t *bytes);
/*
 * After the disk was full: is there room to go on, with a WAL whose limit is WAL_LIMIT?  With less than the WAL may take it would be full again at
 * once; an eighth of a small disk does.
 */
bool space_suffices(int directory, uint64_t wal_limit);
/* Give up the reserve file.  Idempotent.  0 or -errno. */
int space_release(int directory);
/* Make it again, of BYTES (0 = none), where there is room for it; else ARCHIVE_E_FULL.  Idempotent.  0 or -errno. */
int space_restore(int directory, uint64_t bytes);

/*
 * Readers and deletion.  A body is served from the oldest packet on, and deletion eats from there too, a lot at a time: who has just begun would
 * lose what it was promised.  So readers hold deletion back until they are on their way, and deletion waits for them, as long as its caller likes.
 *
 * It is a lock on a file beside the archive: shared by readers, exclusive while something is deleted, and gone with the process that has it.
 */

/*
 * Reader: hold back deletion, until the caller closes *FD.  PATH is the file.  0; ARCHIVE_E_BUSY (something is being deleted right now); or -errno:
 * there is nothing to hold.  Never waits.
 */
int hold_take(const char *path, int *fd);

/* Writer: make the file NAME in DIRECTORY where it is not there, and open it as *FD.  0 or -errno. */
int hold_open(int directory, const char *name, int *fd);
/* Begin to delete: false where a reader holds it back.  Readers wait from then on.  Idempotent, and true without a file (FD < 0). */
bool hold_begin(int fd);
/* Deletion is over, for now.  Idempotent. */
void hold_end(int fd);

#endif
