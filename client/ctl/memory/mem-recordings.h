/* Fetch a memory profile of the daemon, so that it can be read as often as a file. */
#ifndef CTL_MEM_RECORDINGS_H
#define CTL_MEM_RECORDINGS_H

#include <stdbool.h>

/*
 * Return true if OPERAND names a recording: "recording:ID", or a number that is no file's name.
 * Point *ID at its id inside of OPERAND.
 */
bool mem_recording_is(const char *operand, const char **id);

/* Point *ID at the id in OPERAND, with or without "recording:". Return an exit code. */
int mem_recording_id(const char *operand, const char **id);

/*
 * Fetch what HOST (as in http_open()) has of recording ID into an unnamed file, and set *FD, which
 * the caller closes. Return an exit code.
 */
int mem_recording_fetch(const char *host, const char *id, int *fd);

#endif
