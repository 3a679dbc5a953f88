/* The files of the viewer, compiled into the program. assets.py generates the table. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct asset {
	const char *name; /* path in the URL below /viewer/: "main.js", "host/host.js" */
	const char *type; /* Content-Type */
	const char *hash; /* hash of the content */
	const uint8_t *plain;
	size_t plain_bytes;
	const uint8_t *gzip; /* compressed content; NULL if compression saves little */
	size_t gzip_bytes;
};

/* Sorted by name. */
extern const struct asset assets[];
extern const size_t assets_count;

#endif
