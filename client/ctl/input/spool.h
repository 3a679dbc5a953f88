/* Files without a name, for what must be read again and cannot be. */
#ifndef CTL_SPOOL_H
#define CTL_SPOOL_H

/* A new one, to be closed, or -errno.  In $TMPDIR, else where large files may be. */
int spool_file(void);

#endif
