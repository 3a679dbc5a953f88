/*
 * Read plain events only. These are put back and end the batch: an event whose clock stepped back,
 * one near the end of the packet's bytes, one with a cut or unknown stack, and a location event.
 *
 * Invariant: an event that is put back has changed nothing, so mem_events_next() reads it as if it
 * had not been tried.
 */
#include "mem-batch.h"

/* Largest codeword, bytes. */
#define WORD_BYTES 10u

/* State of a batch. */
struct batch {
	struct mem_bytes rest;
	uint64_t base_us;   /* begin of the packet, microseconds, with the bits that events hold set to 0 */
	uint32_t begin;	    /* the bits of the packet's begin that events hold */
	uint64_t last_us;   /* time of the previous event, microseconds */
	uint64_t latest_us; /* latest time that an event of the packet can have, microseconds */
	uint64_t next_id;
	struct mem_domain *domain;
	struct mem_tree *tree;
	bool stacks;
};

/*
 * Store the time of the event that begins with WORD in *TIME. Return false when its clock is not
 * plausible.
 */
static inline bool time_read(struct batch *in, uint32_t word, uint64_t *time)
{
	uint32_t low = word & MEM_CLOCK_MASK;
	uint64_t t = in->base_us + low + (low < in->begin ? 1u << MEM_CLOCK_BITS : 0);

	*time = t;
	return t >= in->last_us && t <= in->latest_us;
}

/*
 * Read a stack of N codewords, whose first PREFIX frames are those of the previous stack, and store
 * its node in RECORD. Return MPROF_OK; MPROF_END when the event is not plain; MPROF_NOMEM.
 */
static inline enum mprof_status stack_read(struct mprof_mem *m, struct batch *in, struct mem_record *record,
					   uint64_t prefix, uint32_t n)
{
	struct mem_stack *s = &in->domain->stack;
	struct mprof_mem_event e = {.common = (uint32_t)prefix, .domain = in->domain->number};

	if (!in->stacks)
		return mem_stack_skip(&in->rest, n) ? MPROF_OK : MPROF_END;
	/* A stack of more codewords may have been cut, and is not plain. */
	if (prefix > s->n || n > MEM_STACK_WORDS_PLAIN || !mem_has(&in->rest, n * WORD_BYTES) ||
	    s->room - prefix < n * MEM_STACK_WORD_FRAMES)
		return MPROF_END;
	if (!mem_stack_plain(s, &in->rest, (uint32_t)prefix, n, &m->codes))
		return MPROF_NOMEM;
	if (!in->tree)
		return MPROF_OK;
	e.stack = s->frames;
	e.frames = s->n;
	record->node = mem_tree_node(in->tree, &e, &record->left_out);
	return record->node == MPROF_NONE ? MPROF_NOMEM : MPROF_OK;
}

static inline enum mprof_status alloc_read(struct mprof_mem *m, struct batch *in, struct mem_record *record,
					   uint32_t id)
{
	struct mem_bytes *b = &in->rest;
	uint64_t prefix;
	uint32_t n;

	record->kind = MPROF_MEM_ALLOC;
	record->id = (int64_t)in->next_id;
	record->node = 0;
	record->left_out = false;
	if (id > MEM_ID_SHORT) {
		record->length = id - MEM_ID_SHORT;
		record->samples = 1;
		record->source = MPROF_MEM_MINOR;
		if (!mem_vint(b, &prefix) || !mem_has(b, 1))
			return MPROF_END;
		n = *b->at++;
	} else {
		if (!mem_vint(b, &record->length) || !mem_vint(b, &record->samples) || !mem_has(b, 1) ||
		    *b->at > MPROF_MEM_EXTERNAL)
			return MPROF_END;
		record->source = *b->at++;
		if (!mem_vint(b, &prefix) || !mem_has(b, 2))
			return MPROF_END;
		n = mprof_load16(b->at);
		b->at += 2;
	}
	return stack_read(m, in, record, prefix, n);
}

/*
 * Read the next event into RECORD. Return MPROF_OK; MPROF_END when there is none, or when it is not
 * plain; MPROF_NOMEM.
 */
static inline enum mprof_status event_read(struct mprof_mem *m, struct batch *in, struct mem_record *record,
					   uint64_t *allocs)
{
	enum mprof_status r;
	uint32_t word, id;
	uint64_t delta;

	if (!mem_has(&in->rest, 4))
		return MPROF_END;
	word = mprof_load32(in->rest.at);
	id = word >> MEM_CLOCK_BITS;
	in->rest.at += 4;
	if (!time_read(in, word, &record->time_us))
		return MPROF_END;
	if (id == MEM_ID_PROMOTE || id == MEM_ID_COLLECT) {
		if (!mem_vint(&in->rest, &delta))
			return MPROF_END;
		record->kind = id == MEM_ID_PROMOTE ? MPROF_MEM_PROMOTE : MPROF_MEM_COLLECT;
		record->id = (int64_t)(in->next_id - 1 - delta);
	} else if (id == MEM_ID_ALLOC || (id > MEM_ID_SHORT && id <= MEM_ID_SHORT + MEM_SHORT_MAX)) {
		r = alloc_read(m, in, record, id);
		if (r)
			return r;
		record->number = (*allocs)++;
		in->next_id++;
	} else {
		return MPROF_END;
	}
	in->last_us = record->time_us;
	return MPROF_OK;
}

/*
 * Return true when M's open packet can have more plain events. A skipped packet has no bytes left
 * and no domain.
 */
static bool is_plain(const struct mprof_mem *m)
{
	if (!m->open || m->over || m->rest.at == m->rest.end || m->domain == &m->other)
		return false;
	return !m->options.stacks || (m->domain->has_stack && !m->domain->stack.lost);
}

enum mprof_status mem_batch_read(struct mprof_mem *m, struct mem_tree *tree, struct mem_record *records,
				 uint64_t *allocs, uint32_t *n)
{
	struct batch in = {.rest = m->rest, .domain = m->domain, .tree = tree, .stacks = m->options.stacks};
	enum mprof_status r = MPROF_OK;
	const uint8_t *at;

	*n = 0;
	if (!is_plain(m))
		return MPROF_OK;
	in.base_us = m->packet.begin_us & ~(uint64_t)MEM_CLOCK_MASK;
	in.begin = m->packet.begin_us & MEM_CLOCK_MASK;
	in.last_us = in.domain->last_us;
	in.latest_us = mem_packet_latest(&m->packet);
	in.next_id = m->next_id;
	at = in.rest.at;
	while (*n < MEM_BATCH && !(r = event_read(m, &in, &records[*n], allocs))) {
		at = in.rest.at;
		++*n;
	}
	/* Put back the event that was begun, if there is one. */
	m->rest.at = at;
	m->next_id = in.next_id;
	in.domain->last_us = in.last_us;
	return r == MPROF_NOMEM ? r : MPROF_OK;
}
