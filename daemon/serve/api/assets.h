/* The viewer's files, built into the program (assets.py writes the table). */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct asset {
	const char *name; /* as in the address: "main.js" */
	const char *type; /* Content-Type */
	const char *hash; /* of its bytes; the same file has the same */
	const uint8_t *plain;
	size_t plain_bytes;
	const uint8_t *gzip; /* NULL where it would save little */
	size_t gzip_bytes;
};

/* In order of their names. */
extern const struct asset assets[];
extern const size_t assets_count;

#endif
