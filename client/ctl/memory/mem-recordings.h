/*
 * Fetch a memory profile of the daemon into a file, because the profile may be read more than once.
 */
#ifndef CTL_MEM_RECORDINGS_H
#define CTL_MEM_RECORDINGS_H

#include <stdbool.h>

#include "ctl.h"

/*
 * Return true if OPERAND names a recording of the daemon: "recording:ID", or a number that is not
 * the name of a file; with "HOST/" before it, choose that host in HOSTS. *ID then points to the id
 * inside of OPERAND.
 */
bool mem_recording_is(struct hosts *hosts, const char *operand, const char **id);

/*
 * Point *ID at the id in OPERAND, which may have "HOST/" and the prefix "recording:" before it; HOST
 * is then chosen in HOSTS. Return an exit code:
 * CTL_USAGE if there is no number.
 */
int mem_recording_id(struct hosts *hosts, const char *operand, const char **id);

/*
 * Fetch the bytes of recording ID from HOSTS (as for http_open()) into an unnamed file. Set *FD to
 * the file, which the caller closes. Return an exit code.
 */
int mem_recording_fetch(const struct hosts *hosts, const char *id, int *fd);

#endif
