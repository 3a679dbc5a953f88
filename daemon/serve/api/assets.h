/* The viewer's files, built into the program. assets.py writes the table. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct asset {
	const char *name; /* in the URL: "main.js", "host/host.js" */
	const char *type; /* Content-Type */
	const char *hash; /* hash of the content */
	const uint8_t *plain;
	size_t plain_bytes;
	const uint8_t *gzip; /* NULL if compression saves little */
	size_t gzip_bytes;
};

/* Sorted by name. */
extern const struct asset assets[];
extern const size_t assets_count;

#endif
