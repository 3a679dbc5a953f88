/* Memtrace streams for tests: functions that encode a stream, and functions that decode it. */
#ifndef UNIT_MEM_MAKE_H
#define UNIT_MEM_MAKE_H

#include <stdlib.h>

#include <mprof/flame.h>

#include "check.h"
#include "mem-encode.h"

#define MADE_START  1795259273941809u
#define MADE_PLACES 64u

struct made {
	uint8_t *bytes;
	size_t n, room;
	struct mprof_mem_code codes[MADE_PLACES];
	struct mprof_mem_location locations[MADE_PLACES];
	char name[32];
	struct mem_encoder *encoder;
	uint64_t us;
};

static int made_put(void *data, const void *bytes, size_t n)
{
	struct made *m = data;

	while (m->n + n > m->room) {
		m->room = m->room ? m->room * 2 : 1 << 16;
		m->bytes = realloc(m->bytes, m->room);
	}
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
	return 0;
}

static const struct mprof_mem_code *made_code(void *names, uint32_t i)
{
	return &((struct made *)names)->codes[i];
}

static const struct mprof_mem_location *made_location(void *names, uint32_t i)
{
	return &((struct made *)names)->locations[i];
}

/* Return the name of place I, which needs no table: place 3 is function "f3" in "file3.ml". */
static const char *made_string(void *names, uint32_t i, size_t *bytes)
{
	struct made *m = names;

	*bytes = (size_t)snprintf(m->name, sizeof(m->name), i < MADE_PLACES ? "f%u" : "file%u.ml", i % MADE_PLACES);
	return m->name;
}

/* Begin a stream that samples each word of 8 bytes with probability RATE. */
static inline void made_begin_at(struct made *m, uint32_t version, double rate)
{
	const struct mprof_mem_info info = {.rate = rate,
					    .start_us = MADE_START,
					    .pid = 7,
					    .word_bytes = 8,
					    .version = version,
					    .program = "p",
					    .host = "h",
					    .parameters = "",
					    .context = ""};
	const struct mem_encoder_ops ops = {.put = made_put,
					    .code = made_code,
					    .location = made_location,
					    .string = made_string,
					    .context = m,
					    .names = m};

	for (uint32_t i = 0; i < MADE_PLACES; i++) {
		m->codes[i] = (struct mprof_mem_code){
			.code = i * 16, .first_location = i, .locations = i > 0, .explained = true};
		m->locations[i] =
			(struct mprof_mem_location){.file = MADE_PLACES + i, .function = i, .line = i, .last = 9};
	}
	m->us = 0;
	m->encoder = mem_encoder_new(&info, &ops);
}

/* Begin a stream that samples every thousandth word of 8 bytes. */
static inline void made_begin(struct made *m, uint32_t version)
{
	made_begin_at(m, version, 0.001);
}

/*
 * Write an allocation at US microseconds after the start, with the call stack PLACES, which ends at
 * the first 0. Return the object's id.
 */
static inline int64_t made_alloc(struct made *m, uint64_t us, uint64_t samples, enum mprof_mem_source source,
				 const uint32_t *places)
{
	struct mprof_mem_event e = {.kind = MPROF_MEM_ALLOC,
				    .time_us = MADE_START + us,
				    .length = samples,
				    .samples = samples,
				    .source = (uint8_t)source,
				    .stack = places};

	while (places[e.frames])
		e.frames++;
	CHECK_EQ_INT(mem_encoder_add(m->encoder, &e), 0);
	return mem_encoder_next_id(m->encoder) - 1;
}

#define STACK(...) ((const uint32_t[]){__VA_ARGS__, 0})

static inline void made_end(struct made *m, uint64_t us, enum mprof_mem_kind kind, int64_t id)
{
	const struct mprof_mem_event e = {.kind = (uint8_t)kind, .time_us = MADE_START + us, .id = id};

	CHECK_EQ_INT(mem_encoder_add(m->encoder, &e), 0);
}

static inline void made_finish(struct made *m)
{
	CHECK_EQ_INT(mem_encoder_flush(m->encoder), 0);
	m->encoder = mem_encoder_free(m->encoder);
}

static inline void made_free(struct made *m)
{
	free(m->bytes);
	*m = (struct made){0};
}

/*
 * Decode M and pass each event to P and S, either of which may be NULL. Return the decoder, which
 * the caller frees.
 */
static inline struct mprof_mem *made_read(struct made *m, struct mprof_profile *p, struct mprof_selection *s)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 11});
	struct mprof_mem_event e;
	enum mprof_status status;

	mprof_mem_feed(d, m->bytes, m->n);
	mprof_mem_finish(d);
	while ((status = mprof_mem_next(d, &e)) != MPROF_END) {
		CHECK_EQ_INT(status, MPROF_OK);
		if (s)
			CHECK_EQ_INT(mprof_selection_add(s, d, &e), MPROF_OK);
		if (p)
			CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	}
	if (s)
		CHECK_EQ_INT(mprof_selection_finish(s), MPROF_OK);
	if (p)
		CHECK_EQ_INT(mprof_profile_finish(p), MPROF_OK);
	return d;
}

#endif
