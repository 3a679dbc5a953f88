/* Files of schema/ that are compiled into the program. */
#ifndef SERVE_EMBEDDED_H
#define SERVE_EMBEDDED_H

#include <stddef.h>

extern const char embedded_openapi[];
extern const size_t embedded_openapi_bytes;
extern const char embedded_metadata[];
extern const size_t embedded_metadata_bytes;

#endif
