/* Decide from the packet headers of a file whether its packets are in order. */
#ifndef CTL_FILE_ORDER_H
#define CTL_FILE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return true if the bytes of the file FD from the offset FROM on can be decoded in the order of
 * the file. That is so if they are more than a ring can hold, or if all headers are valid and
 * their counts never go back. Return false if mprof_order_scan() must see all bytes first. Also
 * return false for a small file, which costs little to hold in memory.
 */
bool file_order_kept(int fd, uint64_t from);

#endif
