/* mprofd --fsck: read and check both archives. */
#ifndef ARCHIVE_FSCK_H
#define ARCHIVE_FSCK_H

#include <stdio.h>

/*
 * Check both archives below STATE; no other process may write them. Rows from before there were
 * checksums get one, damaged rows are taken out of service, and from a file that SQLite cannot read
 * all readable rows are saved. Sentences go to OUT. Return 0 if all is whole, 1 if something was
 * damaged and the rest is whole, 2 if the check failed.
 */
int archive_fsck(const char *state, FILE *out);

#endif
