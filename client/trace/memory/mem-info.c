/*
 * Description of a recording, in its first packet. A second description in the stream begins
 * another recording, with codes and ids of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem-decoder.h"

bool mem_info_is(const struct mprof_mem *m)
{
	const uint8_t *event = m->bytes + m->packet.header;

	return m->packet.bytes >= m->packet.header + 4 && mprof_load32(event) >> 25 == MEM_ID_INFO;
}

void mem_info_forget(struct mprof_mem *m)
{
	for (uint32_t i = 0; i < m->n_domains; i++) {
		mem_stack_deinit(&m->domains[i]->stack);
		mem_names_deinit(&m->domains[i]->names);
		free(m->domains[i]);
	}
	m->n_domains = 0;
	m->domain = NULL;
	m->other = (struct mem_domain){.no_names = true};
	if (m->has_codes)
		mem_codes_deinit(&m->codes);
	m->has_codes = m->has_info = false;
	free(m->texts);
	m->texts = NULL;
	m->info = (struct mprof_mem_info){0};
}

/* Read a text up to its NUL. Return NULL when there is no NUL. */
static const char *text_read(struct mem_bytes *b)
{
	const char *text = (const char *)b->at;
	const uint8_t *nul = memchr(b->at, 0, (size_t)(b->end - b->at));

	if (!nul)
		return NULL;
	b->at = nul + 1;
	return text;
}

/*
 * Parse a description from B into *INFO. The texts of *INFO point into the bytes of B. Return false
 * for an invalid description.
 */
static bool info_parse(struct mprof_mem_info *info, uint16_t version, struct mem_bytes b)
{
	uint64_t bits;

	if (!mem_has(&b, 9))
		return false;
	bits = mprof_load64(b.at);
	memcpy(&info->rate, &bits, sizeof(bits));
	info->word_bytes = b.at[8] / 8;
	info->version = version;
	b.at += 9;
	info->program = text_read(&b);
	info->host = info->program ? text_read(&b) : NULL;
	info->parameters = info->host ? text_read(&b) : NULL;
	if (!info->parameters || !mem_has(&b, 8))
		return false;
	info->pid = (int64_t)mprof_load64(b.at);
	b.at += 8;
	info->context = version < 2 ? "" : text_read(&b);
	return info->context && isnormal(info->rate) && info->rate > 0 && info->rate <= 1 &&
	       (info->word_bytes == 4 || info->word_bytes == 8);
}

enum mprof_status mem_info_read(struct mprof_mem *m)
{
	struct mem_bytes body = {m->bytes + m->packet.header + 4, m->bytes + m->packet.bytes};
	struct mprof_mem_info info;
	size_t n = (size_t)(body.end - body.at);

	/* Keep the previous recording and its names, because the caller still uses them. */
	m->unreadable = !info_parse(&info, m->packet.version, body);
	if (m->unreadable)
		return mem_damaged(m, MPROF_MEM_DAMAGE_INFO, body.at, m->packet.bytes);
	mem_info_forget(m);
	/* The texts must outlive the packet's bytes: parse a copy. */
	m->texts = malloc(n);
	if (!m->texts)
		return MPROF_NOMEM;
	memcpy(m->texts, body.at, n);
	body = (struct mem_bytes){(const uint8_t *)m->texts, (const uint8_t *)m->texts + n};
	info_parse(&m->info, m->packet.version, body);
	m->info.start_us = m->packet.begin_us;
	m->has_codes = true;
	if (!mem_codes_init(&m->codes, m->options.seed)) {
		mem_info_forget(m);
		return MPROF_NOMEM;
	}
	m->has_info = true;
	return MPROF_OK;
}
