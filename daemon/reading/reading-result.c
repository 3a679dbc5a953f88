/* Take readings, and reject every one that is not as schema/reading.md says. */
#include "reading-result.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ring.h>
#include <mprof/trace.h>

#define KEY_BYTES      12u /* of a checksum, in a cause's key */
#define CAUSE_NAME_MAX 20u /* bytes of a cause's name */

/* Copy the text of SECTION to OUT of SIZE bytes. Return false if OUT has one, or if it is too long, or no text. */
static bool take_text(const struct mprof_reading_section *section, char *out, size_t size)
{
	uint32_t n = section->bytes;

	if (*out || n == 0 || n >= size || memchr(section->content, 0, n) ||
	    !mprof_text_is_utf8((const char *)section->content, n))
		return false;
	memcpy(out, section->content, n);
	out[n] = '\0';
	return true;
}

/* Make the key of the cause of SECTION, which may be any text: its name, and a part of its checksum. */
static bool take_cause(const struct mprof_reading_section *section, char key[READING_KEY_BYTES])
{
	const uint8_t *text = section->content;
	size_t name = 0, n = section->bytes;
	uint8_t sum[32];

	while (name < n && ((text[name] >= 'a' && text[name] <= 'z') || text[name] == '-'))
		name++;
	if (*key || n > MPROF_READING_CAUSE_MAX || !name || name > CAUSE_NAME_MAX || (name < n && text[name] != '\n') ||
	    memchr(text, 0, n) || gnutls_hash_fast(GNUTLS_DIG_SHA256, text, n, sum) < 0)
		return false;
	memcpy(key, text, name);
	key[name] = '-';
	for (unsigned i = 0; i < KEY_BYTES; i++)
		snprintf(key + name + 1 + (size_t)2 * i, 3, "%02x", sum[i]);
	return true;
}

/* Take the cuts at P into T. Return false if they do not ascend, or are no offsets of packets. */
static bool take_cuts(const uint8_t *p, struct reading_tail *t)
{
	for (uint32_t i = 0; i < t->n_cuts; i++, p += MPROF_READING_CUT_BYTES) {
		struct reading_cut cut = {mprof_load64(p), mprof_load32(p + 8), mprof_load32(p + 12)};

		if (cut.sequence < t->begin_sequence || cut.sequence >= t->next ||
		    cut.end < MPROF_PACKET_HEADER_BYTES || cut.end > MPROF_RING_BYTES_MAX ||
		    cut.resume > MPROF_RING_BYTES_MAX || (cut.resume && cut.resume <= cut.end) ||
		    (i && cut.sequence <= t->cuts[i - 1].sequence))
			return false;
		t->cuts[i] = cut;
	}
	return true;
}

static bool take_tail(const struct mprof_reading_section *section, uint32_t *cuts, struct reading_result *result)
{
	const uint8_t *p = section->content;
	struct reading_tail *more, t;

	if (section->bytes < MPROF_READING_TAIL_BYTES || result->n_tails == READING_TAILS_MAX)
		return false;
	t = (struct reading_tail){.stream = (int64_t)mprof_load64(p),
				  .begin_sequence = mprof_load64(p + 8),
				  .begin_offset = mprof_load32(p + 16),
				  .n_cuts = mprof_load32(p + 20),
				  .next = mprof_load64(p + 24),
				  .newest = mprof_load64(p + 32),
				  .not_after = mprof_load64(p + 40)};
	if (t.n_cuts > READING_CUTS_MAX - *cuts || t.begin_sequence > INT64_MAX || t.next < t.begin_sequence ||
	    t.next > INT64_MAX || t.begin_offset > MPROF_RING_BYTES_MAX ||
	    section->bytes != MPROF_READING_TAIL_BYTES + t.n_cuts * MPROF_READING_CUT_BYTES)
		return false;
	for (uint32_t i = 0; i < result->n_tails; i++)
		if (result->tails[i].stream == t.stream)
			return false;
	more = realloc(result->tails, (result->n_tails + 1) * sizeof(*more));
	if (!more)
		return false;
	result->tails = more;
	t.cuts = calloc(t.n_cuts + 1u, sizeof(*t.cuts));
	if (!t.cuts)
		return false;
	*cuts += t.n_cuts;
	result->tails[result->n_tails++] = t;
	return take_cuts(p + MPROF_READING_TAIL_BYTES, &t);
}

/* Take the numbers of damage. Each is below 2^63, as JSON shows it. */
static bool take_damage(const struct mprof_reading_section *section, struct reading_result *r)
{
	if (r->damage_known || section->bytes != MPROF_READING_DAMAGE_BYTES)
		return false;
	r->damage_known = true;
	r->damages = mprof_load64(section->content);
	r->skipped = mprof_load64(section->content + 8);
	r->unproven = mprof_load64(section->content + 16);
	return (r->damages | r->skipped | r->unproven) <= INT64_MAX;
}

/* Take a section without content, once. */
static bool take_mark(const struct mprof_reading_section *section, bool *mark)
{
	if (*mark)
		return false;
	*mark = true;
	return section->bytes == 0;
}

static bool take_section(const struct mprof_reading_section *s, uint32_t *cuts, struct reading_result *r)
{
	switch (s->kind) {
	case MPROF_READING_FAILURE:
		return take_text(s, r->failure, sizeof(r->failure));
	case MPROF_READING_CAUSE:
		return take_cause(s, r->cause);
	case MPROF_READING_SENTENCE:
		return take_text(s, r->sentence, sizeof(r->sentence));
	case MPROF_READING_LAST:
		return take_text(s, r->last, sizeof(r->last));
	case MPROF_READING_EXCEPTION:
		return take_text(s, r->exception, sizeof(r->exception));
	case MPROF_READING_TAIL:
		return take_tail(s, cuts, r);
	case MPROF_READING_DAMAGE:
		return take_damage(s, r);
	case MPROF_READING_MAIN_FAILED:
		return take_mark(s, &r->main_failed);
	case MPROF_READING_WHOLE_END:
		return take_mark(s, &r->whole_end);
	default:
		return true;
	}
}

bool reading_result_take(const uint8_t *p, size_t bytes, struct reading_result *result)
{
	struct mprof_reading_section section;
	size_t at = MPROF_READING_HEADER_BYTES;
	uint32_t cuts = 0;
	bool ok = mprof_reading_is_known(p, bytes);

	*result = (struct reading_result){0};
	while (ok && mprof_reading_next(p, bytes, &at, &section))
		ok = take_section(&section, &cuts, result);
	ok = ok && at == bytes &&
	     !(*result->failure && (*result->cause || *result->sentence || *result->last || *result->exception ||
				    result->main_failed || result->whole_end));
	if (!ok)
		reading_result_deinit(result);
	return ok;
}

void reading_result_deinit(struct reading_result *r)
{
	for (uint32_t i = 0; i < r->n_tails; i++)
		free(r->tails[i].cuts);
	free(r->tails);
	*r = (struct reading_result){0};
}

size_t reading_of_failure(const char *failure, uint8_t out[READING_FAILURE_BYTES])
{
	size_t bytes = strnlen(failure, MPROF_READING_FAILURE_MAX);

	mprof_reading_begin(out);
	mprof_reading_section(out + MPROF_READING_HEADER_BYTES, MPROF_READING_FAILURE, (uint32_t)bytes);
	memcpy(out + MPROF_READING_HEADER_BYTES + MPROF_READING_SECTION_BYTES, failure, bytes);
	return MPROF_READING_HEADER_BYTES + MPROF_READING_SECTION_BYTES + bytes;
}

int reading_add_tail(uint8_t **p, size_t *bytes, const struct reading_tail *tail)
{
	size_t content = MPROF_READING_TAIL_BYTES + (size_t)tail->n_cuts * MPROF_READING_CUT_BYTES;
	size_t total = *bytes + MPROF_READING_SECTION_BYTES + content;
	uint8_t *at;

	if (total > MPROF_READING_BYTES_MAX)
		return -E2BIG;
	at = realloc(*p, total);
	if (!at)
		return -ENOMEM;
	*p = at;
	at += *bytes;
	*bytes = total;
	mprof_reading_section(at, MPROF_READING_TAIL, (uint32_t)content);
	at += MPROF_READING_SECTION_BYTES;
	mprof_store64(at, (uint64_t)tail->stream);
	mprof_store64(at + 8, tail->begin_sequence);
	mprof_store32(at + 16, tail->begin_offset);
	mprof_store32(at + 20, tail->n_cuts);
	mprof_store64(at + 24, tail->next);
	mprof_store64(at + 32, tail->newest);
	mprof_store64(at + 40, tail->not_after);
	at += MPROF_READING_TAIL_BYTES;
	for (uint32_t i = 0; i < tail->n_cuts; i++, at += MPROF_READING_CUT_BYTES) {
		mprof_store64(at, tail->cuts[i].sequence);
		mprof_store32(at + 8, tail->cuts[i].end);
		mprof_store32(at + 12, tail->cuts[i].resume);
	}
	return 0;
}
