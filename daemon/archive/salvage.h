/* Save the rows that can be read of a damaged SQLite file. */
#ifndef ARCHIVE_SALVAGE_H
#define ARCHIVE_SALVAGE_H

#include <stdint.h>
#include <stdio.h>

/* A table, in the order in which tables are copied. */
struct salvage_table {
	const char *name;
	const char *rows; /* in words, for the report */
	int has_rowid;
};

struct salvage {
	const char *path;		      /* of the file */
	const char *const *const *migrations; /* see database.h */
	const struct salvage_table *tables;   /* the last has no name */
	const char *finish;		      /* SQL that is run when all is copied; NULL = none */
};

/* Write those bytes of a file's header that are the same in every archive.  1: some were wrong; 0; -errno. */
int salvage_header(const char *path);

/*
 * Copy what can be read into a new file, and put that in the place of the old, which is kept as PATH.damaged-N.  Writes sentences to OUT.  The
 * directory must be locked.  0, -errno, or a positive archive_condition; then the old file is where it was.
 */
int salvage_run(const struct salvage *s, FILE *out);

#endif
