/*
 * Readers and deletion.  A body is served from the oldest packet on, and deletion eats from there too, a lot at a time: who has just begun would
 * lose what it was promised.  So readers hold deletion back until they are on their way, and deletion waits for them, as long as its caller likes.
 *
 * It is a lock on a file beside the archive: shared by readers, exclusive while something is deleted, and gone with the process that has it.
 */
#ifndef ARCHIVE_HOLD_H
#define ARCHIVE_HOLD_H

#include <stdbool.h>

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
