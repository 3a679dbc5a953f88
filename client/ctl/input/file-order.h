/* The order of the packets in a file, from their headers alone. */
#ifndef CTL_FILE_ORDER_H
#define CTL_FILE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return true if the bytes of the file FD from FROM on can be decoded as they come: they are more
 * than a ring can have, or all headers are valid and their counts never go back. Return false if
 * mprof_order_scan() has to see all bytes, and for a small file, which costs little to hold.
 */
bool file_order_kept(int fd, uint64_t from);

#endif
