/* Names of a memory profile's functions, safe for what they are written into. */
#ifndef CTL_MEM_NAME_H
#define CTL_MEM_NAME_H

#include <mprof/flame.h>

#include "writer.h"

/* What a node is called: a function, a place of allocation, or what stands for a stack.  Raw bytes into *BYTES; lent. */
const char *mem_name(const struct mprof_mem *d, const struct mprof_flame_node *node, size_t *bytes);

/* Write BYTES bytes at TEXT inside of an element or attribute of XML: no byte of it is markup, and none is a character that XML forbids. */
void mem_put_xml(struct writer *out, const char *text, size_t bytes);
void mem_put_format(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
