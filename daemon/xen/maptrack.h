/*
 * How many grants dom0 can have mapped at a time, over all its programs: block and network back ends draw from the same table.
 */
#ifndef XEN_MAPTRACK_H
#define XEN_MAPTRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Xen's defaults: 1,024 frames of 4 KiB with an entry of 16 bytes for each mapped grant. */
#define MAPTRACK_FRAMES	       1024u
#define MAPTRACK_FRAME_ENTRIES 256u
#define MAPTRACK_FRAMES_MAX    1048576u /* a number above this is not believed */

/*
 * The table's entries (by Xen's parameter where it can be asked for it, which takes the right to open /dev/xen/privcmd and leaves nothing
 * open, else by the default), and how many of them a page takes: 2 in a PV dom0, where the kernel maps it too, else 1.
 */
void maptrack_read(uint64_t *entries, unsigned *per_page);

#endif
