/* The kind of program that a command is. */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

enum program_kind {
	PROGRAM_DYNAMIC, /* of glibc, as far as its file says: the shim works */
	PROGRAM_UNKNOWN, /* not found or not readable: the kernel will say why */
	PROGRAM_STATIC,
	PROGRAM_GO,
	PROGRAM_FOREIGN, /* of another processor or another C library */
};

/*
 * Look for COMMAND as execvp() does, and return the kind of its program. For a script it is the
 * interpreter's.
 */
enum program_kind program_kind(const char *command);

#endif
