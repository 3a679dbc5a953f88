/* Random secrets as lower-case hexadecimal digits, and the hashes under which they are kept. */
#ifndef SERVE_SECRET_H
#define SERVE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES  32u
#define SECRET_DIGITS (2 * SECRET_BYTES)
#define SECRET_HASH   32u /* bytes of a SHA-256 */

/* Write N bytes at BYTES as 2 * N digits and a NUL to TEXT. */
void secret_digits(const uint8_t *bytes, size_t n, char *text);
/*
 * Write N random bytes, at most SECRET_BYTES, as digits to TEXT (2 * N + 1 bytes). Return false if the
 * system gives none.
 */
bool secret_new(size_t n, char *text);
/* Set HASH to that of the SECRET_DIGITS digits at TEXT. Return false if that is impossible. */
bool secret_hash(const char *text, uint8_t hash[SECRET_HASH]);

#endif
