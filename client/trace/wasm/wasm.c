/* See wasm.h. */
#include "wasm.h"

#include <stdlib.h>

#include <mprof/diff.h>

#define COPIED_NUMBERS 9 /* see wasm_clocks_packets() */

struct loader *wasm_open(uint64_t seed, bool simplify)
{
	return loader_new(&(struct mprof_model_options){.simplify = simplify, .seed = seed});
}

uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind)
{
	return loader_stream(
		l,
		&(struct mprof_model_source){.guest = guest, .offset_ns = offset_ns, .uncertainty_ns = uncertainty_ns},
		(enum intake_kind)kind);
}

uint32_t wasm_damage(const struct loader *l, uint32_t i, char *text, size_t size)
{
	uint32_t stream = MPROF_NONE;
	const struct mprof_damage *damage = loader_damage(l, i, &stream);

	if (damage)
		mprof_damage_text(damage, text, size);
	return stream;
}

const char *wasm_thread_type(uint32_t type)
{
	return mprof_thread_type_name(type <= UINT8_MAX ? (uint8_t)type : MPROF_THREAD_UNKNOWN);
}

const char *wasm_event_name(uint32_t id)
{
	return id < MPROF_EVENT_IDS ? mprof_event_name((uint8_t)id) : NULL;
}

size_t wasm_printable(char *out, size_t room, const char *text, size_t bytes)
{
	return mprof_text_show(out, room, &text, &bytes);
}

struct mprof_diff *wasm_diff(const struct mprof_model_view *good, const struct mprof_model_view *bad, uint64_t seed)
{
	return mprof_diff_new(good, bad, &(struct mprof_diff_options){.seed = seed});
}

struct mprof_clocks *wasm_clocks(void)
{
	return calloc(1, sizeof(struct mprof_clocks));
}

void wasm_clocks_packets(struct mprof_clocks *c, const uint64_t *numbers, uint32_t n)
{
	for (; n; n--, numbers += COPIED_NUMBERS)
		mprof_clocks_packet(c, &(struct mprof_copied){
					       .guest_ns = numbers[0],
					       .room = numbers[1],
					       .first = {numbers[2], numbers[3], numbers[4]},
					       .last = {numbers[5], numbers[6], numbers[7]},
					       .stepped = numbers[8] != 0,
				       });
}
