/*
 * Encoder of stacks. It updates the caches as the reader will: a codeword with bucket B first makes
 * B the successor of the previous frame's bucket; then the frames after B's are predicted from the
 * successors of B.
 *
 * Invariant: no codeword refers to an empty bucket as if it had a code, so it does not matter what
 * a reader has in that bucket.
 */
#include "mem-encode-stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>

/*
 * Size of a stack's codewords, in bytes, at which the writer stops. A reader treats such a stack as
 * cut.
 */
#define CUT_BYTES 4087u
#define RUN_MAX	  255u
#define NEW_NAME  31u

enum { WORD_HIT, WORD_HIT_1, WORD_HIT_N, WORD_NEW };

struct mem_encode_domain *mem_encode_domain_new(uint16_t number)
{
	struct mem_encode_domain *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->number = number;
	d->codes = calloc(MEM_BUCKETS, sizeof(*d->codes));
	d->next = calloc(MEM_BUCKETS, sizeof(*d->next));
	return d->codes && d->next ? d : mem_encode_domain_free(d);
}

struct mem_encode_domain *mem_encode_domain_free(struct mem_encode_domain *d)
{
	if (!d)
		return NULL;
	mem_names_deinit(&d->names);
	free(d->codes);
	free(d->next);
	free(d->frames);
	free(d);
	return NULL;
}

/*
 * Return the bucket of CODE. Two buckets are possible: return the one that holds CODE, else an
 * empty one, else one of the two.
 */
static uint16_t bucket_of(const struct mem_encode_domain *d, uint32_t code)
{
	uint32_t hash = code * 0x9e3779b1u;
	uint16_t one = (uint16_t)(hash >> 18 & (MEM_BUCKETS - 1)), two = (uint16_t)(hash >> 4 & (MEM_BUCKETS - 1));

	if (d->codes[one] == code + 1 || !d->codes[one])
		return one;
	return d->codes[two] == code + 1 || !d->codes[two] || code & 1 ? two : one;
}

static int stack_room(struct mem_encode_domain *d, uint64_t n)
{
	uint64_t room = d->room ? d->room : 256;
	uint32_t *frames;

	while (room < n)
		room *= 2;
	if (room == d->room)
		return 0;
	frames = realloc(d->frames, (size_t)room * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	d->frames = frames;
	d->room = (uint32_t)room;
	return 0;
}

/*
 * Return the number of frames, from frame I on, that are the codes in the successors of *BUCKET,
 * one successor after the other. Set *BUCKET to the bucket of the last of these frames.
 */
static uint32_t run(const struct mem_encode_domain *d, uint32_t i, uint32_t n, uint16_t *bucket)
{
	uint32_t k = 0;

	while (k < RUN_MAX && i + k < n && d->codes[d->next[*bucket]] == d->frames[i + k] + 1) {
		*bucket = d->next[*bucket];
		k++;
	}
	return k;
}

/*
 * Encode the frames from I up to, but not including, N into WORDS. Return the index of the first
 * frame that did not fit, or N.
 */
static uint32_t words_put(struct mem_encode_domain *d, uint32_t i, uint32_t n,
			  uint64_t (*value)(const void *context, uint32_t code), const void *context,
			  struct mem_encode_words *words)
{
	uint16_t before = 0, bucket;
	uint32_t k, kind;
	uint8_t *at;

	for (; i < n && words->n_bytes < CUT_BYTES; words->n++) {
		at = words->bytes + words->n_bytes;
		bucket = bucket_of(d, d->frames[i]);
		d->next[before] = bucket;
		before = bucket;
		if (d->codes[bucket] != d->frames[i] + 1) {
			mprof_store16(at, (uint16_t)(bucket << 2 | WORD_NEW));
			mprof_store64(at + 2, value(context, d->frames[i]));
			d->codes[bucket] = d->frames[i++] + 1;
			words->n_bytes += 10;
			continue;
		}
		k = run(d, i + 1, n, &before);
		kind = k < 2 ? k : WORD_HIT_N;
		mprof_store16(at, (uint16_t)((uint32_t)bucket << 2 | kind));
		at[2] = (uint8_t)k;
		words->n_bytes += k < 2 ? 2 : 3;
		i += 1 + k;
	}
	return i;
}

int mem_encode_stack(struct mem_encode_domain *d, const uint32_t *stack, uint32_t n, uint32_t last,
		     uint64_t (*value)(const void *context, uint32_t code), const void *context,
		     struct mem_encode_words *words)
{
	uint32_t all = n + (last != MPROF_NONE), same = 0;

	if (stack_room(d, all + 1u))
		return -ENOMEM;
	while (same < d->n && same < n && d->frames[same] == stack[same])
		same++;
	if (same < n)
		memcpy(d->frames + same, stack + same, (n - same) * sizeof(*stack));
	else if (all > n && same < d->n && d->frames[same] == last)
		same++;
	if (all > n)
		d->frames[n] = last;
	words->n = 0;
	words->n_bytes = 0;
	words->prefix = same;
	d->n = words_put(d, same, all, value, context, words);
	return 0;
}

int mem_encode_file(struct mem_names *names, uint32_t name)
{
	uint32_t i = 0, index;
	struct mem_file *file;

	while (i < names->n && names->files[i]->name != name)
		i++;
	index = i < names->n ? i : NEW_NAME;
	if (index < NEW_NAME) {
		file = names->files[i];
	} else if (names->n == MEM_NAMES_LEVEL) {
		file = names->files[--i];
		file->functions.n = 0;
	} else {
		file = calloc(1, sizeof(*file));
		if (!file)
			return -ENOMEM;
		names->n++;
	}
	file->name = name;
	memmove(names->files + 1, names->files, i * sizeof(names->files[0]));
	names->files[0] = file;
	return (int)index;
}

uint32_t mem_encode_function(struct mem_names *names, uint32_t name)
{
	struct mem_functions *functions = &names->files[0]->functions;
	uint32_t i = 0, index;

	while (i < functions->n && functions->name[i] != name)
		i++;
	index = i < functions->n ? i : NEW_NAME;
	if (index == NEW_NAME)
		i = functions->n < MEM_NAMES_LEVEL ? functions->n++ : MEM_NAMES_LEVEL - 1;
	memmove(functions->name + 1, functions->name, i * sizeof(functions->name[0]));
	functions->name[0] = name;
	return index;
}
