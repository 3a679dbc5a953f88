#include "wasm.h"

#include <stdlib.h>

#include <mprof/diff.h>
#include <mprof/scene.h>

#define COPIED_NUMBERS 25 /* see wasm_clocks_packets() */

struct loader *wasm_open(uint64_t seed, bool simplify)
{
	return loader_new(&(struct mprof_model_options){.simplify = simplify, .seed = seed});
}

uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind)
{
	return loader_stream(
		l,
		&(struct mprof_model_source){.guest = guest, .offset_ns = offset_ns, .uncertainty_ns = uncertainty_ns},
		(enum input_kind)kind);
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

static struct mprof_stamp stamp_of(const uint64_t *numbers)
{
	return (struct mprof_stamp){numbers[0], numbers[1], numbers[2]};
}

void wasm_clocks_packets(struct mprof_clocks *c, const uint64_t *numbers, uint32_t n)
{
	for (; n; n--, numbers += COPIED_NUMBERS) {
		struct mprof_copied_packet packet = {
			.guest_ns = numbers[0],
			.first = stamp_of(numbers + 1),
			.last = stamp_of(numbers + 4),
			.stepped = numbers[7] != 0,
			.has_last_chunk = numbers[8] != UINT64_MAX,
			.last_chunk_ns = numbers[8],
			.n_newest = (uint32_t)numbers[9],
		};

		for (uint32_t i = 0; i < MPROF_CLOCKS_POLLS; i++)
			packet.newest[i] = stamp_of(numbers + 10 + 3 * i);
		mprof_clocks_packet(c, &packet);
	}
}

/* ---- memory profiles ---- */

#define NAMES_MAX (2 * MPROF_MEM_CLAUSES_MAX)

struct wasm_filter {
	struct mprof_mem_filter filter;
	struct mprof_mem_clause hidden[MPROF_MEM_CLAUSES_MAX];
	uint32_t n_hidden;
	char *names[NAMES_MAX]; /* owned */
	uint32_t n_names;
};

struct wasm_filter *wasm_filter_new(void)
{
	return calloc(1, sizeof(struct wasm_filter));
}

void wasm_filter_free(struct wasm_filter *f)
{
	for (uint32_t i = 0; f && i < f->n_names; i++)
		free(f->names[i]);
	free(f);
}

void wasm_filter_range(struct wasm_filter *f, enum wasm_filter_range range, uint32_t has, uint64_t least, uint64_t most)
{
	struct mprof_mem_range *const ranges[] = {
		[WASM_FILTER_ALLOCATED] = &f->filter.allocated, [WASM_FILTER_LIVE] = &f->filter.live,
		[WASM_FILTER_COLLECTED] = &f->filter.collected, [WASM_FILTER_BYTES] = &f->filter.bytes,
		[WASM_FILTER_LIFETIME] = &f->filter.lifetime,
	};

	*ranges[range] =
		(struct mprof_mem_range){.least = least, .most = most, .has_least = has & 1, .has_most = has >> 1 & 1};
}

void wasm_filter_heaps(struct wasm_filter *f, uint32_t heaps, bool never_collected)
{
	f->filter.heaps = (uint8_t)heaps;
	f->filter.never_collected = never_collected;
}

bool wasm_filter_name(struct wasm_filter *f, enum wasm_filter_name kind, char *name, bool whole)
{
	const struct mprof_mem_clause clause = {.name = name, .whole = whole, .outside = kind == WASM_FILTER_OUTSIDE};
	bool hidden = kind == WASM_FILTER_HIDDEN;

	if ((hidden ? f->n_hidden : f->filter.n_clauses) == MPROF_MEM_CLAUSES_MAX) {
		free(name);
		return false;
	}
	f->names[f->n_names++] = name;
	if (hidden)
		f->hidden[f->n_hidden++] = clause;
	else
		f->filter.clauses[f->filter.n_clauses++] = clause;
	return true;
}

struct scan *wasm_scan(const struct recording *r, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
		       uint64_t last_us, bool grows, bool sort)
{
	return scan_new(r, &(struct scan_options){
				   .seed = seed,
				   .recording = recording,
				   .filter = filter ? &filter->filter : NULL,
				   .last_us = last_us,
				   .grows = grows,
				   .sort = sort,
			   });
}

struct scan *wasm_scan_line(const struct recording *r, uint64_t seed, uint64_t recording,
			    const struct wasm_filter *filter, uint64_t last_us, uint64_t from, uint64_t length,
			    uint32_t points)
{
	return scan_new(r, &(struct scan_options){
				   .seed = seed,
				   .recording = recording,
				   .filter = filter ? &filter->filter : NULL,
				   .last_us = last_us,
				   .sort = true,
				   .from = from,
				   .length = length,
				   .points = points,
			   });
}

struct mprof_flame *wasm_flame(const struct scan *s, enum mprof_weight weight, bool sites, bool recursion,
			       const struct wasm_filter *hiding)
{
	const struct mprof_flame_options options = {
		.weight = weight,
		.sites = sites,
		.recursion = recursion,
		.hidden = hiding ? hiding->hidden : NULL,
		.n_hidden = hiding ? hiding->n_hidden : 0,
	};

	return mprof_flame_new(scan_profile(s), scan_decoder(s), &options);
}

bool wasm_scan_damage(const struct scan *s, uint32_t i, char *text, size_t size)
{
	const struct mprof_mem_damage *damage = scan_damage(s, i);

	if (damage)
		mprof_mem_damage_text(damage, text, size);
	return damage != NULL;
}

/* ---- warm-up ---- */

/*
 * Run a small trace through the model and its pictures.
 *
 * Browsers compile a function quickly at first. They replace the code by an optimised version only
 * at a later call, after the function has run for long. Most functions that finish a model are
 * called once and run for a second, so without a warm-up they would run unoptimised.
 */

#define ROUNDS 4000u

struct warm_up {
	struct mprof_model *model;
	uint64_t time;
};

static void add_event(struct warm_up *w, uint8_t id, int64_t context, int64_t number, const char *text)
{
	struct mprof_raw_event e = {.id = id, .context = context, .number = number, .text = text};

	e.type = MPROF_THREAD_Bind;
	e.text_bytes = text ? 2 : 0;
	e.timestamp = w->time += 100 + (uint64_t)number * 7919 % 900;
	mprof_model_add(w->model, 0, &e);
}

/*
 * Add the events of thread I: it is created, tries to read the previous thread, reads it, and is
 * resolved or becomes another.
 */
static void add_thread(struct warm_up *w, int64_t i)
{
	add_event(w, MPROF_EVENT_creates, i - i % 8, i, NULL);
	add_event(w, MPROF_EVENT_try_read, i, i - 1, NULL);
	add_event(w, MPROF_EVENT_label, i, 0, "ab");
	add_event(w, MPROF_EVENT_counter, i, i % 100, "cd");
	add_event(w, MPROF_EVENT_switch, i, 0, NULL);
	add_event(w, i % 9 ? MPROF_EVENT_fulfills : MPROF_EVENT_fails, i, i - 1, i % 9 ? NULL : "ef");
	add_event(w, MPROF_EVENT_read, i, i - 1, NULL);
	if (i % 4 == 0)
		add_event(w, MPROF_EVENT_becomes, i - 3, i, NULL);
	if (i % 16 == 0)
		add_event(w, MPROF_EVENT_gc, -1, 50, NULL);
	if (i % 2 == 0)
		add_event(w, MPROF_EVENT_switch, -1, 0, NULL);
}

static void draw(const struct warm_up *w)
{
	struct mprof_scene *s = mprof_scene_new(mprof_model_view(w->model));
	struct mprof_window window = {.to = w->time, .width = 1600, .height = 1000, .letter_width = 7, .flags = 7};
	struct mprof_picture picture;

	for (; s && window.to > 1000000; window.to /= 64)
		mprof_scene_draw(s, &window, &picture);
	mprof_scene_free(s);
}

void wasm_warm_up(void)
{
	struct mprof_model_source source = {0};
	struct warm_up w = {.model = mprof_model_new(&(struct mprof_model_options){.simplify = true})};
	uint32_t stream;

	if (w.model && mprof_model_stream(w.model, &source, &stream) == MPROF_OK) {
		for (int64_t i = 1; i <= ROUNDS; i++)
			add_thread(&w, i);
		if (mprof_model_finish(w.model) == MPROF_OK)
			draw(&w);
	}
	mprof_model_free(w.model);
}
