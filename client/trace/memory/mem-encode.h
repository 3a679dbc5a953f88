/*
 * Write a memtrace stream: events of a decoder, or events like them, as packets.
 *
 * The stream keeps the format's promises: a code is explained (its locations are written) before
 * its use, ids count from 0, and a packet has the events of one domain and spans at most 30
 * seconds. The format cannot express a cut or unknown stack: such a stack gets as its innermost
 * frame a function named `(truncated stack)` or `(unknown stack)`.
 */
#ifndef TRACE_MEM_ENCODE_H
#define TRACE_MEM_ENCODE_H

#include <mprof/profile.h>

/*
 * Callbacks of an encoder. PUT writes the stream and gets CONTEXT. The other three return what
 * codes mean, and get NAMES.
 */
struct mem_encoder_ops {
	/* Write N bytes. Return 0, or a -errno that the encoder returns. */
	int (*put)(void *context, const void *bytes, size_t n);
	/*
	 * Code, location and string of an index, as mprof_mem_code(), mprof_mem_location() and
	 * mprof_mem_string() return them. Index 0 is code 0.
	 */
	const struct mprof_mem_code *(*code)(void *names, uint32_t i);
	const struct mprof_mem_location *(*location)(void *names, uint32_t i);
	const char *(*string)(void *names, uint32_t i, size_t *bytes);
	void *context;
	void *names;
};

struct mem_encoder;

/*
 * Callbacks CODE, LOCATION and STRING (struct mem_encoder_ops) that return what the codes of a
 * decoder mean. D is the decoder, a struct mprof_mem, which the caller stores in NAMES.
 */
const struct mprof_mem_code *mem_encoder_code(void *d, uint32_t i);
const struct mprof_mem_location *mem_encoder_location(void *d, uint32_t i);
const char *mem_encoder_string(void *d, uint32_t i, size_t *bytes);

/*
 * Begin a stream and write its first packet, the description INFO. The stream has version 3 of the
 * format if INFO has version 3, else version 2. Copy OPS. Return the encoder, which the caller
 * frees; or NULL without memory, or when the write fails.
 */
struct mem_encoder *mem_encoder_new(const struct mprof_mem_info *info, const struct mem_encoder_ops *ops);
/* Free E without flushing; E may be NULL. Return NULL. */
struct mem_encoder *mem_encoder_free(struct mem_encoder *e);

/* Return the id that the next alloc will get. */
int64_t mem_encoder_next_id(const struct mem_encoder *e);
/*
 * Add an event. A promote or collect must have the id that the encoder gave to the object's alloc
 * (mem_encoder_next_id()); the id in an alloc is ignored. Return 0 or -errno; after an error the
 * stream is invalid.
 */
int mem_encoder_add(struct mem_encoder *e, const struct mprof_mem_event *event);
/* Write all buffered packets. Return as mem_encoder_add(). */
int mem_encoder_flush(struct mem_encoder *e);

#endif
