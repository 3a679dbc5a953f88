/* The files of schema/archive, built in. */
#ifndef ARCHIVE_MIGRATIONS_H
#define ARCHIVE_MIGRATIONS_H

/* Migration i+1 as its lines, NULL behind the last; NULL behind the last migration. */
extern const char *const *const migrations_trace[];
extern const char *const *const migrations_memtraces[];

#endif
