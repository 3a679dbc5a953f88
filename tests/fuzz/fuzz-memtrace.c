/*
 * Fuzz the decoder of memtrace streams with any bytes. The first byte says into which pieces the
 * other bytes are cut. The output must be the same for any pieces, and for functions that return
 * one event or many.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/profile.h>

#include "fuzz.h"

static uint64_t add(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3;
}

static uint64_t add_text(uint64_t hash, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = add(hash, (uint8_t)text[i]);
	return hash;
}

/*
 * Add the locations and names of code I to HASH, which checks that they exist. Return the new hash.
 */
static uint64_t add_code(uint64_t hash, const struct mprof_mem *d, uint32_t i)
{
	const struct mprof_mem_code *code;
	size_t bytes = 0;

	require(i < mprof_mem_codes(d));
	code = mprof_mem_code(d, i);
	for (uint32_t k = 0; k < code->locations; k++) {
		const struct mprof_mem_location *l = mprof_mem_location(d, code->first_location + k);

		const char *file = mprof_mem_string(d, l->file, &bytes), *function;

		hash = add_text(hash, file, bytes);
		function = mprof_mem_string(d, l->function, &bytes);
		hash = add(add_text(hash, function, bytes), l->line);
	}
	return add(hash, code->code);
}

static uint64_t drain(struct mprof_mem *d, uint64_t hash, enum mprof_status stop)
{
	struct mprof_mem_event e;
	enum mprof_status status;
	char text[200];

	while ((status = mprof_mem_next(d, &e)) != stop) {
		require(status == MPROF_OK || status == MPROF_CORRUPT);
		if (status == MPROF_CORRUPT) {
			require(mprof_mem_damage_text(mprof_mem_damage(d), text, sizeof(text)) > 0);
			hash = add(add(hash, mprof_mem_damage(d)->offset), mprof_mem_damage(d)->skipped);
			continue;
		}
		require(mprof_mem_info(d) != NULL);
		hash = add(add(hash, e.time_us), (uint64_t)e.id + e.kind);
		if (e.kind != MPROF_MEM_ALLOC)
			continue;
		require(e.frames <= MPROF_MEM_FRAMES_MAX && e.common <= e.frames);
		for (uint32_t i = e.common; i < e.frames && i < e.common + 600; i++)
			hash = add_code(hash, d, e.stack[i]);
	}
	return hash;
}

static uint64_t run(const uint8_t *data, size_t size, size_t piece)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 1});
	uint64_t hash = 0, bytes = 0;
	uint8_t *copy;

	require(d != NULL);
	while (size) {
		size_t n = piece < size ? piece : size;

		/*
		 * Copy the bytes to memory of their own, so that a sanitizer detects accesses past
		 * their end.
		 */
		copy = malloc(n);
		require(copy != NULL);
		memcpy(copy, data, n);
		mprof_mem_feed(d, copy, n);
		hash = drain(d, hash, MPROF_MORE);
		free(copy);
		data += n;
		size -= n;
		bytes += n;
	}
	mprof_mem_finish(d);
	hash = drain(d, hash, MPROF_END);
	require(mprof_mem_totals(d)->bytes == bytes && mprof_mem_totals(d)->skipped <= bytes);
	mprof_mem_free(d);
	return hash;
}

/* Pass the events of D to P, either many at once or one by one. */
static void sum(struct mprof_profile *p, struct mprof_mem *d, bool at_once, enum mprof_status stop)
{
	struct mprof_mem_event e;
	enum mprof_status status;

	do {
		status = at_once ? mprof_profile_read(p, d) : mprof_mem_next(d, &e);
		if (status == MPROF_OK)
			status = mprof_profile_add(p, &e);
		require(status != MPROF_NOMEM);
	} while (status != stop);
}

static struct mprof_profile *profile(const uint8_t *data, size_t size, size_t piece, bool stacks, bool at_once)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = stacks, .seed = 1});
	struct mprof_profile *p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 2});

	require(d && p);
	for (size_t n; size; data += n, size -= n) {
		n = piece < size ? piece : size;
		mprof_mem_feed(d, data, n);
		sum(p, d, at_once, MPROF_MORE);
	}
	mprof_mem_finish(d);
	sum(p, d, at_once, MPROF_END);
	mprof_mem_free(d);
	return p;
}

static void check_profiles(const uint8_t *data, size_t size, size_t piece, bool stacks)
{
	struct mprof_profile *a = profile(data, size, size, stacks, false),
			     *b = profile(data, size, piece, stacks, true);
	const struct mprof_profile_node *x, *y;
	uint32_t n, m;

	x = mprof_profile_nodes(a, &n);
	y = mprof_profile_nodes(b, &m);
	require(memcmp(mprof_profile_sums(a), mprof_profile_sums(b), sizeof(struct mprof_profile_sums)) == 0);
	require(n == m);
	for (uint32_t i = 0; i < n; i++)
		require(x[i].parent == y[i].parent && x[i].code == y[i].code && x[i].allocs == y[i].allocs &&
			x[i].samples == y[i].samples && x[i].live == y[i].live && x[i].peak == y[i].peak);
	mprof_profile_free(a);
	mprof_profile_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	require(run(data + 1, size - 1, (size_t)data[0] * data[0] + 1) == run(data + 1, size - 1, size));
	check_profiles(data + 1, size - 1, (size_t)data[0] * data[0] + 1, data[0] & 1);
	return 0;
}
