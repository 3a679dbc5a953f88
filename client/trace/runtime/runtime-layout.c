/* The header of a ring file of OCaml 5, and memory in this process. */
#include <string.h>

#include <mprof/runtime.h>

#define WORD	     8u
#define RING_HEADER  80u
#define NAMES_BYTES  (8192u * 128u)
#define RING_EXP_MIN 4u
#define RING_EXP_MAX 40u

/* Words of the header. */
enum { VERSION, RINGS, RING_HEADER_BYTES, RING_BYTES, RING_WORDS, HEADERS, DATA, NAMES, WORDS };

bool mprof_runtime_map_load(void *map, uint64_t offset, void *to, size_t words)
{
	const struct mprof_runtime_map *m = map;
	const uint64_t *from;
	uint64_t word;

	if (offset % WORD || offset > m->len || words > (m->len - offset) / WORD)
		return false;
	from = (const uint64_t *)((const char *)m->bytes + offset);
	for (size_t i = 0; i < words; i++) {
		word = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
		memcpy((char *)to + i * WORD, &word, WORD);
	}
	return true;
}

/*
 * Check the header's words W. Return MPROF_OK and set *LAYOUT; MPROF_MORE for a header that a program
 * may be writing, word by word, over zeros; else MPROF_CORRUPT.
 */
static enum mprof_status check(struct mprof_runtime_layout *layout, const uint64_t *w)
{
	uint64_t names, *l = (uint64_t[]){1, w[RINGS], RING_HEADER, 0, w[RING_WORDS], 64, 0, 0};
	bool begun = true;

	if (w[VERSION] == 1 && w[RINGS] >= 1 && w[RINGS] <= MPROF_RUNTIME_RINGS_MAX && w[RING_WORDS] >> RING_EXP_MIN &&
	    w[RING_WORDS] <= 1ull << RING_EXP_MAX && !(w[RING_WORDS] & (w[RING_WORDS] - 1))) {
		l[RING_BYTES] = w[RING_WORDS] * WORD;
		l[DATA] = 64 + w[RINGS] * RING_HEADER;
		names = l[DATA] + w[RINGS] * l[RING_BYTES];
		l[NAMES] = w[NAMES] ? names : 0;
		*layout = (struct mprof_runtime_layout){
			.ring_words = w[RING_WORDS],
			.data = l[DATA],
			.names = l[NAMES],
			.file_bytes = names + (w[NAMES] ? NAMES_BYTES : 0),
			.rings = (uint32_t)w[RINGS],
		};
		if (memcmp(l, w, WORDS * WORD) == 0)
			return MPROF_OK;
	}
	for (int i = 0; i < WORDS; i++)
		begun = begun && (!w[i] || (i == VERSION && w[i] == 1) || i > VERSION);
	for (int i = 0; i < WORDS; i++)
		if (begun && !w[i])
			return MPROF_MORE;
	return MPROF_CORRUPT;
}

static void load(uint64_t *w, const uint8_t *bytes)
{
	for (int i = 0; i < WORDS; i++)
		w[i] = mprof_load64(bytes + (size_t)i * WORD);
}

bool mprof_runtime_begins(const void *bytes, size_t len)
{
	struct mprof_runtime_layout layout;
	uint64_t w[WORDS];

	if (len < MPROF_RUNTIME_HEADER_BYTES)
		return false;
	load(w, bytes);
	return check(&layout, w) == MPROF_OK;
}

enum mprof_status mprof_runtime_layout_load(struct mprof_runtime_layout *layout,
					    const struct mprof_runtime_memory *memory, uint64_t file_bytes)
{
	uint8_t bytes[MPROF_RUNTIME_HEADER_BYTES];
	enum mprof_status status;
	uint64_t w[WORDS];

	if (file_bytes < sizeof(bytes))
		return file_bytes ? MPROF_CORRUPT : MPROF_MORE;
	if (!memory->load(memory->context, 0, bytes, WORDS))
		return MPROF_CORRUPT;
	load(w, bytes);
	status = check(layout, w);
	if (status != MPROF_OK || layout->file_bytes == file_bytes)
		return status;
	/* The last word, the offset of the names, is not yet written. */
	return !layout->names && file_bytes == layout->file_bytes + NAMES_BYTES ? MPROF_MORE : MPROF_CORRUPT;
}
