/*
 * A small trace, made here, through the model and its pictures.
 *
 * Why: browsers run a function in code that was made in haste until it has done much, and put what was made with care in its place when it is
 * called the next time.  Most of what finishes a model is called once and runs for a second.
 */
#include <mprof/scene.h>

#include "wasm.h"

#define ROUNDS 4000u

struct warming {
	struct mprof_model *model;
	uint64_t time;
};

static void happen(struct warming *w, uint8_t id, int64_t context, int64_t number, const char *text)
{
	struct mprof_raw_event e = {.id = id, .context = context, .number = number, .text = text};

	e.type = MPROF_THREAD_Bind;
	e.text_bytes = text ? 2 : 0;
	e.timestamp = w->time += 100 + (uint64_t)number * 7919 % 900;
	mprof_model_add(w->model, 0, &e);
}

/* A thread that is created, looks at the one before, reads it, and is resolved or becomes another. */
static void live(struct warming *w, int64_t i)
{
	happen(w, MPROF_EVENT_creates, i - i % 8, i, NULL);
	happen(w, MPROF_EVENT_try_read, i, i - 1, NULL);
	happen(w, MPROF_EVENT_label, i, 0, "ab");
	happen(w, MPROF_EVENT_counter, i, i % 100, "cd");
	happen(w, MPROF_EVENT_switch, i, 0, NULL);
	happen(w, i % 9 ? MPROF_EVENT_fulfills : MPROF_EVENT_fails, i, i - 1, i % 9 ? NULL : "ef");
	happen(w, MPROF_EVENT_read, i, i - 1, NULL);
	if (i % 4 == 0)
		happen(w, MPROF_EVENT_becomes, i - 3, i, NULL);
	if (i % 16 == 0)
		happen(w, MPROF_EVENT_gc, -1, 50, NULL);
	if (i % 2 == 0)
		happen(w, MPROF_EVENT_switch, -1, 0, NULL);
}

static void draw(const struct warming *w)
{
	struct mprof_scene *s = mprof_scene_new(mprof_model_view(w->model));
	struct mprof_window window = {0, w->time, 0, 1600, 1000, 7, 7};
	struct mprof_picture picture;

	for (; s && window.to > 1000000; window.to /= 64)
		mprof_scene_draw(s, &window, &picture);
	mprof_scene_free(s);
}

void wasm_warm_up(void)
{
	struct mprof_model_source source = {0};
	struct warming w = {.model = mprof_model_new(&(struct mprof_model_options){.simplify = true})};
	uint32_t stream;
	int64_t i;

	if (w.model && mprof_model_stream(w.model, &source, &stream) == MPROF_OK) {
		for (i = 1; i <= ROUNDS; i++)
			live(&w, i);
		if (mprof_model_finish(w.model) == MPROF_OK)
			draw(&w);
	}
	mprof_model_free(w.model);
}
