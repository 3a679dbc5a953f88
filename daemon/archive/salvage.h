/* Save the readable rows of a damaged SQLite file. */
#ifndef ARCHIVE_SALVAGE_H
#define ARCHIVE_SALVAGE_H

#include <stdint.h>
#include <stdio.h>

/* A table. Tables are copied in the order of their list. */
struct salvage_table {
	const char *name;
	const char *rows; /* name of its rows in the report */
	int has_rowid;
};

struct salvage {
	const char *path;		      /* of the file */
	const char *const *const *migrations; /* see database.h */
	const struct salvage_table *tables;   /* the last has no name */
	const char *finish;		      /* SQL to run behind the copy; NULL = none */
};

/*
 * Write those bytes of a file's header that are the same in every archive. Return 1 if some were
 * wrong, 0 if not, or -errno.
 */
int salvage_header(const char *path);

/*
 * Copy all readable rows into a new file and put that in the place of the old file, which is kept
 * as PATH.damaged-N. Sentences go to OUT. The caller has locked the directory. Return 0, -errno or
 * a positive archive_condition; after an error the old file is in its place.
 */
int salvage_run(const struct salvage *s, FILE *out);

#endif
