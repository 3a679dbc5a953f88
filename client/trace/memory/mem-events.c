/*
 * Events of one packet.
 *
 * Invariants: the ids of allocs begin with the id in the packet header, so a damaged or lost packet
 * does not shift the ids of later ones. When bytes of a domain were lost, the domain's stacks are
 * unknown from there on, because each stack is coded as its difference from the previous one.
 */
#include <stdlib.h>

#include "mem-decoder.h"

static struct mem_domain *domain_get(struct mprof_mem *m, uint16_t number)
{
	struct mem_domain *new;

	for (uint32_t i = 0; i < m->n_domains; i++)
		if (m->domains[i]->number == number)
			return m->domains[i];
	new = m->n_domains < MPROF_MEM_DOMAINS_MAX ? calloc(1, sizeof(*new)) : NULL;
	if (!new)
		return &m->other;
	new->number = number;
	new->last_us = m->info.start_us;
	m->domains[m->n_domains++] = new;
	return new;
}

/* Return true when stacks of DOMAIN are decoded. The first call allocates the domain's caches. */
static bool domain_stacks(struct mprof_mem *m, struct mem_domain *domain)
{
	if (!m->options.stacks || domain == &m->other)
		return false;
	if (!domain->has_stack) {
		domain->has_stack = true;
		domain->stack.lost = !mem_stack_init(&domain->stack);
	}
	return !domain->stack.lost;
}

/*
 * Return true when no packet of DOMAIN is missing before the open packet, as far as can be known.
 * Before version 3 the ids show each missing packet. In version 3 domains can interleave, and the
 * check of one bucket shows most missing packets.
 */
static bool follows(struct mprof_mem *m, const struct mem_domain *domain)
{
	const struct mem_packet *p = &m->packet;

	if (p->version < 3 && p->first_id != domain->end_id && p->first_id != domain->next_id)
		return false;
	return p->check_bucket == MEM_NO_CHECK ||
	       mem_stack_check(&domain->stack, &m->codes, p->check_bucket, p->check_next, p->check_code);
}

enum mprof_status mem_events_begin(struct mprof_mem *m)
{
	const struct mem_packet *p = &m->packet;
	struct mem_domain *domain = m->domain = domain_get(m, p->domain);
	bool whole;

	m->next_id = p->first_id;
	m->misses_ids = false;
	whole = !domain_stacks(m, domain) || follows(m, domain);
	domain->end_id = domain->next_id = p->end_id;
	if (whole)
		return MPROF_OK;
	domain->stack.lost = true;
	return mem_damaged(m, MPROF_MEM_DAMAGE_STACKS, m->bytes, 0);
}

/*
 * Return the time of the event that begins with WORD, in microseconds. WORD has the low bits of the
 * time, which count up to 33.55 s; a packet spans at most 30 s and ends with its last event. So a
 * time after the packet's end was stamped before the packet began, by a clock that stepped back:
 * then set a bit in *FLAGS.
 */
static uint64_t event_time(struct mprof_mem *m, uint32_t word, uint8_t *flags)
{
	const struct mem_packet *p = &m->packet;
	uint64_t low = word & MEM_CLOCK_MASK, t = (p->begin_us & ~(uint64_t)MEM_CLOCK_MASK) + low;
	uint64_t latest = mem_packet_latest(p);

	if (low < (p->begin_us & MEM_CLOCK_MASK))
		t += 1u << MEM_CLOCK_BITS;
	if (t > latest || t < m->domain->last_us) {
		m->totals.clock_steps++;
		*flags |= MPROF_MEM_CLOCK_STEPPED;
		return m->domain->last_us;
	}
	m->domain->last_us = t;
	return t;
}

/* Report an invalid event at AT, and skip the packet from there on. */
static enum mprof_status packet_damaged(struct mprof_mem *m, const uint8_t *at)
{
	uint64_t skipped = (uint64_t)(m->rest.end - at);

	m->domain->no_names = true;
	if (m->domain->has_stack)
		m->domain->stack.lost = true;
	m->rest.at = m->rest.end;
	m->misses_ids = true;
	return mem_damaged(m, MPROF_MEM_DAMAGE_EVENT, at, skipped);
}

static enum mprof_status location_next(struct mprof_mem *m, const uint8_t *at)
{
	struct mem_domain *domain = m->domain;

	if (m->options.stacks && !domain->no_names &&
	    mem_names_read(&domain->names, &m->rest, &m->codes) == MEM_NAMES_OK)
		return MPROF_OK;
	/*
	 * A packet with location events has nothing else, and no event needs the locations: skip
	 * its other bytes.
	 */
	m->rest.at = m->rest.end;
	if (!m->options.stacks)
		return MPROF_OK;
	if (domain->no_names) {
		m->totals.unnamed++;
		return MPROF_OK;
	}
	domain->no_names = true;
	return mem_damaged(m, MPROF_MEM_DAMAGE_NAMES, at, (uint64_t)(m->rest.end - at));
}

/*
 * Read the stack of an alloc, N codewords after a prefix of PREFIX frames, into *E. Return false
 * when the bytes end inside the codewords.
 */
static bool stack_next(struct mprof_mem *m, struct mprof_mem_event *e, uint64_t prefix, uint32_t n)
{
	struct mem_domain *domain = m->domain;
	enum mem_stack_result r;

	e->stack = NULL;
	e->frames = e->common = 0;
	e->prefix = (uint32_t)prefix;
	if (!domain_stacks(m, domain)) {
		if (m->options.stacks) {
			m->totals.stackless++;
			e->flags |= MPROF_MEM_NO_STACK;
		}
		return mem_stack_skip(&m->rest, n);
	}
	r = mem_stack_read(&domain->stack, &m->rest, prefix, n, &m->codes, &e->common);
	if (r && r != MEM_STACK_TRUNCATED)
		return false;
	if (r == MEM_STACK_TRUNCATED) {
		m->totals.truncated++;
		e->flags |= MPROF_MEM_TRUNCATED;
	}
	e->stack = domain->stack.frames;
	e->frames = domain->stack.n;
	return true;
}

static bool alloc_next(struct mprof_mem *m, struct mprof_mem_event *e, uint32_t id)
{
	struct mem_bytes *b = &m->rest;
	uint64_t prefix;
	uint32_t n;

	e->kind = MPROF_MEM_ALLOC;
	if (id > MEM_ID_SHORT) {
		e->length = id - MEM_ID_SHORT;
		e->samples = 1;
		e->source = MPROF_MEM_MINOR;
		if (!mem_vint(b, &prefix) || !mem_has(b, 1))
			return false;
		n = *b->at++;
	} else {
		if (!mem_vint(b, &e->length) || !mem_vint(b, &e->samples) || !mem_has(b, 1) ||
		    *b->at > MPROF_MEM_EXTERNAL)
			return false;
		e->source = *b->at++;
		if (!mem_vint(b, &prefix) || !mem_has(b, 2))
			return false;
		n = mprof_load16(b->at);
		b->at += 2;
	}
	e->id = (int64_t)m->next_id++;
	return stack_next(m, e, prefix, n);
}

/*
 * Read a promote or collect into *E. It identifies its object by the number of allocs since the
 * object's. Return false when the bytes end.
 */
static bool end_next(struct mprof_mem *m, struct mprof_mem_event *e, uint32_t id)
{
	uint64_t delta;

	if (!mem_vint(&m->rest, &delta))
		return false;
	e->kind = id == MEM_ID_PROMOTE ? MPROF_MEM_PROMOTE : MPROF_MEM_COLLECT;
	e->id = (int64_t)(m->next_id - 1 - delta);
	return true;
}

enum mprof_status mem_events_next(struct mprof_mem *m, struct mprof_mem_event *e)
{
	const uint8_t *at;
	enum mprof_status r;
	uint32_t word, id;

	while ((at = m->rest.at) < m->rest.end) {
		if (!mem_has(&m->rest, 4))
			return packet_damaged(m, at);
		word = mprof_load32(at);
		id = word >> MEM_CLOCK_BITS;
		m->rest.at += 4;
		if (id == MEM_ID_LOCATION) {
			r = location_next(m, at);
			if (r)
				return r;
			continue;
		}
		e->flags = 0;
		e->domain = m->packet.domain;
		e->time_us = event_time(m, word, &e->flags);
		if (id == MEM_ID_PROMOTE || id == MEM_ID_COLLECT)
			return end_next(m, e, id) ? MPROF_OK : packet_damaged(m, at);
		if (id == MEM_ID_ALLOC || (id > MEM_ID_SHORT && id <= MEM_ID_SHORT + MEM_SHORT_MAX))
			return alloc_next(m, e, id) ? MPROF_OK : packet_damaged(m, at);
		return packet_damaged(m, at);
	}
	if (m->domain)
		m->domain->next_id = m->next_id;
	if (m->next_id != m->packet.end_id && !m->misses_ids) {
		m->misses_ids = true;
		return mem_damaged(m, MPROF_MEM_DAMAGE_IDS, m->rest.end, 0);
	}
	return MPROF_END;
}
