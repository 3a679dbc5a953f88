/*
 * The size of dom0's maptrack table: the number of grants that all programs of dom0 together can
 * have mapped. Block and network back ends use the same table.
 */
#ifndef XEN_MAPTRACK_H
#define XEN_MAPTRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Xen's defaults: 1,024 frames of 4 KiB with an entry of 16 bytes for each mapped grant. */
#define MAPTRACK_FRAMES	       1024u
#define MAPTRACK_FRAME_ENTRIES 256u
#define MAPTRACK_FRAMES_MAX    1048576u /* a greater number is taken for an error */

/*
 * Read into *ENTRIES the table's number of entries, and into *PER_PAGE how many entries one mapped
 * page takes: 2 in a PV dom0, where the kernel maps the page too, else 1. Reading Xen's parameter
 * takes the right to open /dev/xen/privcmd; nothing stays open. If the parameter cannot be read,
 * assume Xen's default.
 */
void maptrack_read(uint64_t *entries, unsigned *per_page);

#endif
