/* mprofd --fsck: read and check both archives. */
#ifndef ARCHIVE_FSCK_H
#define ARCHIVE_FSCK_H

#include <stdio.h>

/*
 * Check both archives below STATE, of which nobody else may be a writer; give rows from before there were checksums theirs; take what is damaged
 * out of service, and where SQLite cannot read a file save what it can of that.  Sentences go to OUT.  0: all is whole; 1: something was
 * damaged, and all that is left is whole; 2: it could not be done.
 */
int archive_fsck(const char *state, FILE *out);

#endif
