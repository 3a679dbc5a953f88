/*
 * scene-dump: write the pictures of certain windows of a trace as bytes, for wasm.mjs:
 * scene-dump FILE
 *
 * A picture is written as the number of its marks, the marks as they are in memory, the number of
 * bytes of its text, and these bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/scene.h>

#include "loader.h"

static void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "scene-dump: no memory\n");
	exit(1);
}

static struct loader *load(FILE *file)
{
	struct loader *l = need(loader_new(&(struct mprof_model_options){.simplify = true}));
	static uint8_t piece[1 << 16];
	size_t n;

	if (loader_stream(l, &(struct mprof_model_source){0}, INPUT_FILE) == MPROF_NONE)
		need(NULL);
	while ((n = fread(piece, 1, sizeof(piece), file))) {
		memcpy(need(loader_room(l, 0, n)), piece, n);
		if (loader_came(l, 0, n) != MPROF_OK)
			need(NULL);
	}
	if (loader_end(l, 0) != MPROF_OK || loader_finish(l) != MPROF_OK)
		need(NULL);
	return l;
}

static void dump(struct mprof_scene *scene, const struct mprof_window *window)
{
	struct mprof_picture p = {0};

	enum mprof_status status = mprof_scene_draw(scene, window, &p);

	if (status == MPROF_CORRUPT)
		return;
	if (status != MPROF_OK)
		need(NULL);
	fwrite(&p.n_marks, sizeof(p.n_marks), 1, stdout);
	fwrite(p.marks, sizeof(*p.marks), p.n_marks, stdout);
	fwrite(&p.text_bytes, sizeof(p.text_bytes), 1, stdout);
	fwrite(p.text, 1, p.text_bytes, stdout);
}

/* Dump the pictures of these windows. wasm.mjs has the same list of windows. */
static void dump_all(struct mprof_scene *scene, const struct mprof_model_stream *s, uint32_t rows)
{
	uint64_t span = s->end - s->start + 1;
	struct mprof_window w = {.width = 1200, .height = 800, .letter_width = 7, .flags = 7};
	unsigned int i;

	for (i = 0; i < 24; i++) {
		w.from = s->start + span / 8 * (i % 8);
		w.to = w.from + 1 + span / (i < 8 ? 1 : i < 16 ? 10 : 1000);
		w.focus = rows * (double)(i % 3) / 2;
		w.height = i % 2 ? 300 : 800;
		dump(scene, &w);
	}
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	const struct mprof_model_view *view;
	struct mprof_scene *scene;
	struct loader *l;

	if (!file) {
		fprintf(stderr, "usage: scene-dump FILE\n");
		return 2;
	}
	l = load(file);
	fclose(file);
	view = mprof_model_view(loader_model(l));
	scene = need(mprof_scene_new(view));
	dump_all(scene, &view->streams[0], view->rows);
	mprof_scene_free(scene);
	loader_free(l);
	return 0;
}
