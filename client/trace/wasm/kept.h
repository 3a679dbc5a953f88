/* The bytes of a recording, kept in pieces: what has come never moves, and nothing is held twice while it grows. */
#ifndef TRACE_KEPT_H
#define TRACE_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* Of a piece. */
#define KEPT_PIECE_BYTES (256u << 10)

struct kept;

/* NULL without memory. */
struct kept *kept_new(void);
/* Takes NULL too; returns NULL. */
struct kept *kept_free(struct kept *k);

/* Where the next bytes are to be written, kept_room_bytes() of them, at least one; NULL without memory.  Lent until kept_came(). */
uint8_t *kept_room(struct kept *k);
size_t kept_room_bytes(const struct kept *k);
/* N bytes were written there. */
void kept_came(struct kept *k, size_t n);

uint64_t kept_bytes(const struct kept *k);
/* The bytes from AT on, which is less than kept_bytes(), up to the end of a piece: their number into *N.  Lent. */
const uint8_t *kept_at(const struct kept *k, uint64_t at, size_t *n);

#endif
