/* Refuse a file that says it has bytes which nobody wrote. */
#ifndef CTL_FILE_HOLE_H
#define CTL_FILE_HOLE_H

/*
 * The smallest hole that is refused. A ring has 256 MiB at most, and whoever saves a trace writes each of its bytes.
 * Smaller holes are read as the zeros that they stand for.
 */
#define FILE_HOLE_BYTES (1ll << 30)

/*
 * Look behind the present position of FD for a hole of FILE_HOLE_BYTES or more, which would take hours to read. Keep
 * the position. Return 0; or CTL_FAILED, and a sentence was said about the file NAME. A pipe has no holes.
 */
int file_hole_check(int fd, const char *name);

#endif
