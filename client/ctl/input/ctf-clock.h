/* The offset of the clock in the metadata of a CTF trace (schema/ctf/metadata.tsdl). */
#ifndef CTL_CTF_CLOCK_H
#define CTL_CTF_CLOCK_H

#include <stddef.h>

#include "clock-offset.h"

#define CTF_CLOCK_BYTES_MAX (1u << 20) /* longest metadata that is read */

/*
 * Read the offset C from the metadata TEXT of LEN bytes of the trace NAME. If the metadata has no
 * offset, or is invalid, the offset is unknown; the latter is reported.
 */
void ctf_clock_parse(struct clock_offset *c, const char *text, size_t len, const char *name);
/*
 * The same for the metadata in the file FD, from its start. FD is -1 if the trace has none. Longer
 * metadata than CTF_CLOCK_BYTES_MAX is invalid. Return 0 or -errno.
 */
int ctf_clock_read(struct clock_offset *c, int fd, const char *name);

#endif
