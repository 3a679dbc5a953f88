/*
 * A memtrace stream is written: the events that a decoder gives out, or others like them, as packets.
 *
 * What readers are promised holds: a code is explained before it is used, ids count from 0, each packet has the events of one domain and spans at
 * most 30 seconds.  Stacks that were cut or are not known end in a frame of a function that says so, since the format has no other word for it.
 */
#ifndef TRACE_MEM_ENCODE_H
#define TRACE_MEM_ENCODE_H

#include <mprof/profile.h>

/* Where the bytes go, with DATA, and where names come from, with NAMES. */
struct mem_encoder_ops {
	/* 0, or a -errno that is handed through. */
	int (*put)(void *data, const void *bytes, size_t n);
	/* As those of a decoder: what the codes of stacks mean.  The number 0 is the code 0. */
	const struct mprof_mem_code *(*code)(void *names, uint32_t i);
	const struct mprof_mem_location *(*location)(void *names, uint32_t i);
	const char *(*string)(void *names, uint32_t i, size_t *bytes);
	void *data;
	void *names;
};

struct mem_encoder;

/* The names of decoder D: for the last three of the ops, with D as NAMES. */
const struct mprof_mem_code *mem_encoder_code(void *d, uint32_t i);
const struct mprof_mem_location *mem_encoder_location(void *d, uint32_t i);
const char *mem_encoder_string(void *d, uint32_t i, size_t *bytes);

/*
 * A stream of INFO, version 2, or 3 where that says 3; its first packet is put at once.  NULL without memory.  OPS are copied; a name is asked for
 * once.
 */
struct mem_encoder *mem_encoder_new(const struct mprof_mem_info *info, const struct mem_encoder_ops *ops);
/* Takes NULL too; returns NULL.  Does not flush. */
struct mem_encoder *mem_encoder_free(struct mem_encoder *e);

/* The id that the next alloc gets. */
int64_t mem_encoder_next_id(const struct mem_encoder *e);
/* Add an event; a promote or collect with the id that its alloc got, of an alloc it is not looked at.  0 or -errno; then the stream is of no use. */
int mem_encoder_add(struct mem_encoder *e, const struct mprof_mem_event *event);
/* Put what was not put yet.  As above. */
int mem_encoder_flush(struct mem_encoder *e);

#endif
