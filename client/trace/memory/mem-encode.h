/*
 * Write a memtrace stream: events of a decoder, or events like them, as packets.
 *
 * The stream keeps the format's promises: a code is explained before its use, ids count from 0, and
 * a packet has the events of one domain and spans at most 30 seconds. A cut or unknown stack ends
 * in a frame of a function with that name, because the format has no other way to express it.
 */
#ifndef TRACE_MEM_ENCODE_H
#define TRACE_MEM_ENCODE_H

#include <mprof/profile.h>

/* Output, called with CONTEXT, and source of names, called with NAMES. */
struct mem_encoder_ops {
	/* Write N bytes. Return 0, or a -errno that the encoder returns. */
	int (*put)(void *context, const void *bytes, size_t n);
	/* Meaning of a stack's codes, as from a decoder. Index 0 is code 0. */
	const struct mprof_mem_code *(*code)(void *names, uint32_t i);
	const struct mprof_mem_location *(*location)(void *names, uint32_t i);
	const char *(*string)(void *names, uint32_t i, size_t *bytes);
	void *context;
	void *names;
};

struct mem_encoder;

/* The names of decoder D: use them for the last three of the ops, with D as NAMES. */
const struct mprof_mem_code *mem_encoder_code(void *d, uint32_t i);
const struct mprof_mem_location *mem_encoder_location(void *d, uint32_t i);
const char *mem_encoder_string(void *d, uint32_t i, size_t *bytes);

/*
 * Begin a stream with the properties INFO, and write its first packet. The stream has version 3 of
 * the format if INFO has version 3, else version 2. Copy OPS. Return the encoder, which the caller
 * frees. Return NULL without memory, or when the write fails.
 */
struct mem_encoder *mem_encoder_new(const struct mprof_mem_info *info, const struct mem_encoder_ops *ops);
/* Free E without flushing; E may be NULL. Return NULL. */
struct mem_encoder *mem_encoder_free(struct mem_encoder *e);

/* Return the id of the next alloc. */
int64_t mem_encoder_next_id(const struct mem_encoder *e);
/*
 * Add an event. A promote or collect has the id that its alloc got; an alloc's id is ignored.
 * Return 0 or -errno; after an error the stream is invalid.
 */
int mem_encoder_add(struct mem_encoder *e, const struct mprof_mem_event *event);
/* Write what is buffered. Return as mem_encoder_add(). */
int mem_encoder_flush(struct mem_encoder *e);

#endif
