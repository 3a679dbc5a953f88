/* Name a file that is of another kind than the one that a verb reads, by its first bytes. */
#ifndef CTL_FILE_KIND_H
#define CTL_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_KIND_HEAD 64u /* bytes that show the kind; fewer may do */

enum file_kind {
	FILE_KIND_OTHER,   /* none of those below */
	FILE_KIND_TRACE,   /* a stream or ring of packets, or a ring file of OCaml 5 */
	FILE_KIND_PROFILE, /* a memtrace stream */
	FILE_KIND_FOREIGN, /* of another program */
};

/*
 * Return the kind of a file that begins with the LEN bytes at HEAD, unpacked. Unless it is FILE_KIND_OTHER, set
 * *WHAT to a constant text that completes "FILE is …": the kind, and what reads it. A file whose beginning is
 * damaged is FILE_KIND_OTHER.
 */
enum file_kind file_kind(const uint8_t *head, size_t len, const char **what);

#endif
