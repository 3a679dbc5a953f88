/* Write the answer of `mem leaks` as JSON. Its keys are an interface: schema/answers/leaks.json and docs/man/mprofctl.1 list them. */
#include <mprof/leaks-report.h>

#include <math.h>

#include "answer-json.h"
#include "memory-json.h"

static const char *const surenesses[] = {
	[MPROF_LEAK_NONE] = "none",
	[MPROF_LEAK_POSSIBLE] = "possible",
	[MPROF_LEAK_LIKELY] = "likely",
	[MPROF_LEAK_SURE] = "sure",
};

struct mprof_leaks_entry mprof_leaks_ask(const struct mprof_leaks_report *r, const struct mprof_leak *leak)
{
	double scale = mprof_mem_scale(r->mem), growth = (double)leak->growth * scale;
	/* Growth is of all parts of the run but the first and the last. */
	double seconds = r->length_us ? (double)r->length_us / 1e6 * (MPROF_LEAK_PARTS - 2) / MPROF_LEAK_PARTS : 1.0;

	return (struct mprof_leaks_entry){
		.sure = surenesses[leak->sureness],
		.live_bytes = (double)leak->live * scale,
		.growth_bytes = growth,
		.bytes_per_s = growth / seconds,
		.error = leak->growth ? 1 / sqrt((double)leak->growth) : 1.0,
		.allocated_growth_bytes = (double)leak->allocated_growth * scale,
		.stack_share = memory_share(leak->at_node, leak->live),
	};
}

uint32_t mprof_leaks_holders(const struct mprof_leaks_report *r, const struct mprof_leak *holders[MPROF_LEAKS_HOLDERS])
{
	uint32_t n, used = 0, at;
	const struct mprof_leak *list = mprof_leaks_list(r->leaks, &n);

	for (uint32_t i = 0; i < n; i++) {
		for (at = used; at && holders[at - 1]->live < list[i].live; at--)
			if (at < MPROF_LEAKS_HOLDERS)
				holders[at] = holders[at - 1];
		if (at < MPROF_LEAKS_HOLDERS && list[i].live)
			holders[at] = &list[i];
		used += used < MPROF_LEAKS_HOLDERS && list[i].live;
	}
	return used;
}

struct mprof_stack_walk mprof_leaks_stack(const struct mprof_leaks_report *r, const struct mprof_leak *leak)
{
	return (struct mprof_stack_walk){
		.mem = r->mem,
		.nodes = r->nodes,
		.node = leak->node,
		.most = r->page ? MPROF_LEAKS_PAGE_FRAMES : MPROF_LEAKS_FRAMES,
	};
}

static void put_stack(const struct mprof_leaks_report *r, struct mprof_json *j, const struct mprof_leak *leak)
{
	struct mprof_stack_walk walk = mprof_leaks_stack(r, leak);
	struct mprof_frame frame;

	mprof_json_open(j, "stack", '[');
	while (mprof_stack_next(&walk, &frame)) {
		mprof_json_open(j, NULL, '{');
		memory_put_function(j, &frame);
		if (frame.file)
			mprof_json_number(j, "line", frame.line);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

static void put_leak(const struct mprof_leaks_report *r, struct mprof_json *j, const struct mprof_leak *leak)
{
	const struct mprof_leaks_entry entry = mprof_leaks_ask(r, leak);

	mprof_json_open(j, NULL, '{');
	mprof_json_word(j, "sure", entry.sure);
	answer_put_count(j, "live", leak->live);
	mprof_json_real(j, "live_bytes", entry.live_bytes);
	answer_put_count(j, "growth", leak->growth);
	mprof_json_real(j, "growth_bytes", entry.growth_bytes);
	mprof_json_real(j, "bytes_per_s", entry.bytes_per_s);
	mprof_json_real(j, "error", entry.error);
	mprof_json_number(j, "steady", leak->steady);
	mprof_json_number(j, "allocated_steady", leak->allocated_steady);
	mprof_json_real(j, "allocated_growth_bytes", entry.allocated_growth_bytes);
	mprof_json_open(j, "parts", '[');
	for (size_t i = 0; i < MPROF_LEAK_PARTS; i++)
		mprof_json_real(j, NULL, (double)leak->parts[i] * mprof_mem_scale(r->mem));
	mprof_json_close(j, ']');
	mprof_json_real(j, "stack_share", entry.stack_share);
	put_stack(r, j, leak);
	mprof_json_close(j, '}');
}

static void put_holders(const struct mprof_leaks_report *r, struct mprof_json *j, uint64_t live)
{
	const struct mprof_leak *holders[MPROF_LEAKS_HOLDERS];
	uint32_t n = mprof_leaks_holders(r, holders);

	mprof_json_open(j, "holders", '[');
	for (uint32_t i = 0; i < n; i++) {
		mprof_json_open(j, NULL, '{');
		mprof_json_real(j, "live_bytes", mprof_leaks_ask(r, holders[i]).live_bytes);
		mprof_json_real(j, "share", memory_share(holders[i]->live, live));
		put_stack(r, j, holders[i]);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

void mprof_leaks_write(const struct mprof_leaks_report *r, struct mprof_json *j)
{
	uint64_t live = mprof_profile_sums(r->profile)->live;
	uint32_t n, written = 0;
	const struct mprof_leak *list = mprof_leaks_list(r->leaks, &n);

	mprof_json_real(j, "seconds", (double)r->length_us / 1e6);
	answer_put_count(j, "live", live);
	mprof_json_real(j, "live_bytes", (double)live * mprof_mem_scale(r->mem));
	put_holders(r, j, live);
	mprof_json_open(j, "leaks", '[');
	for (uint32_t i = 0; i < n && !(r->page && written == MPROF_LEAKS_PAGE_MAX); i++) {
		if (list[i].sureness == MPROF_LEAK_NONE)
			continue;
		put_leak(r, j, &list[i]);
		written++;
	}
	mprof_json_close(j, ']');
}
