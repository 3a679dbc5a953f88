/* mprofd --fsck: read and check both archives. */
#ifndef ARCHIVE_FSCK_H
#define ARCHIVE_FSCK_H

#include <stdio.h>

/*
 * Check both archives below STATE. No other process may write them meanwhile. A row without a
 * checksum gets one, damaged rows are taken out of service, and if SQLite cannot read a file, all
 * readable rows are copied into a new file. Sentences about that go to OUT. Return 0 if nothing is
 * damaged, 1 if something was damaged and the archives are usable now, 2 if the check failed.
 */
int archive_fsck(const char *state, FILE *out);

#endif
