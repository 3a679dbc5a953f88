/* Translate a ring file of OCaml 5 into streams of packets, for the viewer's worker. */
#ifndef TRACE_RUNTIME_STREAMS_H
#define TRACE_RUNTIME_STREAMS_H

#include <mprof/runtime.h>

struct runtime_streams;

/*
 * Read the ring file of LEN bytes at BYTES, which is aligned to 8 bytes and used during the call only.
 * Return its streams, or NULL without memory. A file that is no ring file, or is cut, has no streams.
 * SEED is any number that the writer of the file cannot know.
 */
struct runtime_streams *runtime_streams_new(const void *bytes, size_t len, uint64_t seed);
/* Free S, which may be NULL. Return NULL. */
struct runtime_streams *runtime_streams_free(struct runtime_streams *s);
/*
 * Return the number of the first ring from RING on that has events; MPROF_RUNTIME_RINGS_MAX if there
 * is none.
 */
uint32_t runtime_streams_ring(const struct runtime_streams *s, uint32_t ring);
/* Each returns the packets of RING, as an address and as their number of bytes. S owns them. */
const uint8_t *runtime_streams_bytes(const struct runtime_streams *s, uint32_t ring);
size_t runtime_streams_size(const struct runtime_streams *s, uint32_t ring);
/* Return the number of damaged places in the file. */
uint32_t runtime_streams_damages(const struct runtime_streams *s);

#endif
