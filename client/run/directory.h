/*
 * A directory with the rings of one process, NAME.PID, in a directory DIR that other users may write. Another user may put a link or a
 * directory of their own at its place at any time. So files are made and removed only by the descriptor of a directory of this user that was
 * reached by no link as its last part, a file is always new, and only files are removed that mprof-run or OCaml's runtime makes.
 */
#ifndef RUN_DIRECTORY_H
#define RUN_DIRECTORY_H

#include <stdio.h>

/* Open the directory PATH. Return a descriptor, or -errno: -ELOOP or -ENOTDIR for a link, -EPERM if it belongs to another user. */
int directory_open(const char *path);
/*
 * Make the hidden directory DIR/.NAME, in place of one that an earlier process with this number has left, and store its path in *PATH,
 * which the caller frees, also after a failure. Return a descriptor of it, or -errno: -EBUSY if another mprof-run makes this directory
 * now; -ESTALE if it belongs to another user as soon as it is made, and was removed.
 * The descriptor has a lock: until it is closed, no other mprof-run replaces the directory.
 */
int directory_make(const char *dir, const char *name, char **path);
/*
 * The directory FD, which lies at *PATH, is complete: call it DIR/NAME, in place of an earlier one, and store that in *PATH. Return 0 or
 * -errno; -ESTALE if another user has put something else in its place. *PATH then stays.
 */
int directory_show(int fd, const char *dir, const char *name, char **path);
/* Remove the directory FD of directory_make() with its files if it still lies at PATH, as directory_remove() does. */
void directory_drop(int fd, const char *path);
/* Make the file NAME in the directory FD and open it for writing. Return NULL and set errno if that fails, also if it is there. */
FILE *directory_file(int fd, const char *name);
/*
 * Write TEXT, which a program has chosen, to F: bytes that are no printable ASCII characters as \\xNN, a backslash and a quotation mark
 * behind a backslash.
 */
void directory_text(FILE *f, const char *text);
/*
 * Close F, the file NAME in the directory FD. Return 0, or -errno if it does not have all that was written; it is then removed. F may be
 * NULL: return -errno of directory_file().
 */
int directory_file_end(int fd, const char *name, FILE *f);
/* Remove the files of rings in the directory PATH, and then PATH. It stays if it has other files; a link or another user's stays as it is. */
void directory_remove(const char *path);

#endif
