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

#endif
