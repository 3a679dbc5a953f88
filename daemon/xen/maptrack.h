/*
 * The number of grants that dom0 can have mapped at a time, over all its programs. Block and
 * network back ends use the same table.
 */
#ifndef XEN_MAPTRACK_H
#define XEN_MAPTRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Xen's defaults: 1,024 frames of 4 KiB with an entry of 16 bytes for each mapped grant. */
#define MAPTRACK_FRAMES	       1024u
#define MAPTRACK_FRAME_ENTRIES 256u
#define MAPTRACK_FRAMES_MAX    1048576u /* a greater number is not believed */

/*
 * Read the table's number of ENTRIES, and how many of them a page takes: 2 in a PV dom0, where the
 * kernel maps it too, else 1. Xen's parameter tells the number, which takes the right to open
 * /dev/xen/privcmd and leaves nothing open; without it assume the default.
 */
void maptrack_read(uint64_t *entries, unsigned *per_page);

#endif
