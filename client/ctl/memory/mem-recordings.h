/* A memory profile that the daemon has: fetched whole, so that it can be gone through as often as a file. */
#ifndef CTL_MEM_RECORDINGS_H
#define CTL_MEM_RECORDINGS_H

#include <stdbool.h>

/* Does OPERAND name one: "recording:ID", or by a number where no file has that name?  Its id, borrowed from there, into *ID. */
bool mem_recording_is(const char *operand, const char **id);

/* OPERAND names one for certain, with "recording:" or without: its id, borrowed from there, into *ID.  Returns an exit code, having said why. */
int mem_recording_id(const char *operand, const char **id);

/* What is there of recording ID on HOST (as http_open()), into a file without a name: *FD, to be closed.  Returns an exit code, having said why. */
int mem_recording_fetch(const char *host, const char *id, int *fd);

#endif
