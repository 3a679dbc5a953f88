/* Copy the readable rows of a damaged SQLite file into a new one. */
#ifndef ARCHIVE_SALVAGE_H
#define ARCHIVE_SALVAGE_H

#include <stdint.h>
#include <stdio.h>

/* A table to copy. Tables are copied in the order of their list. */
struct salvage_table {
	const char *name;
	const char *rows; /* what a row is called in the report */
	int has_rowid;	  /* its first column is the number of the row */
	int since;	  /* version of the schema that made the table */
};

struct salvage {
	const char *path;		      /* path of the file */
	const char *const *const *migrations; /* see database.h */
	const struct salvage_table *tables;   /* ends with an entry without a name */
	const char *finish;		      /* SQL to run after the copy; NULL = none */
};

/*
 * Write the header bytes that are the same in every archive. Return 1 if some of them were wrong, 0
 * if not, or -errno.
 */
int salvage_header(const char *path);

/*
 * Copy all readable rows into a new file that replaces the old one; the old file is kept as
 * PATH.damaged-N. Sentences about that go to OUT. The caller has locked the directory. Return 0,
 * -errno or an archive_condition; after an error the old file is still in its place.
 */
int salvage_run(const struct salvage *s, FILE *out);

#endif
