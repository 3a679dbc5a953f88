/*
 * scene-marks: print a picture of a trace as JSON lines, for scene-oracles.py:
 * scene-marks FILE FROM TO WIDTH HEIGHT FOCUS
 *
 * FROM and TO are in ns since the first event. The first line has the number of the model's rows.
 * Each other line is a mark; if the mark belongs to a thread, the line has the thread's id.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/scene.h>

static const char *const names[MPROF_MARK_KINDS] = {
	[MPROF_MARK_SLEEPING] = "sleeping",
	[MPROF_MARK_COLLECTION] = "collection",
	[MPROF_MARK_GAP] = "gap",
	[MPROF_MARK_TAIL] = "tail",
	[MPROF_MARK_GRID] = "grid",
	[MPROF_MARK_SHADE] = "shade",
	[MPROF_MARK_HIGHLIGHT] = "highlight",
	[MPROF_MARK_THREAD] = "thread",
	[MPROF_MARK_RUNNING] = "running",
	[MPROF_MARK_CREATION] = "creation",
	[MPROF_MARK_BECOMES] = "becomes",
	[MPROF_MARK_OPEN_END] = "open-end",
	[MPROF_MARK_FAILED] = "failed",
	[MPROF_MARK_RESOLVE] = "resolve",
	[MPROF_MARK_READ] = "read",
	[MPROF_MARK_READ_FAILED] = "read-failed",
	[MPROF_MARK_TRY_READ] = "try-read",
	[MPROF_MARK_SIGNAL] = "signal",
	[MPROF_MARK_TICK] = "tick",
	[MPROF_MARK_LABEL] = "label",
	[MPROF_MARK_TYPE] = "type",
	[MPROF_MARK_COUNTER] = "counter",
	[MPROF_MARK_COUNTER_NAME] = "counter-name",
	[MPROF_MARK_BAND_NAME] = "band-name",
	[MPROF_MARK_BUSY] = "busy",
	[MPROF_MARK_LANE] = "lane",
	[MPROF_MARK_ENVELOPE] = "envelope",
	[MPROF_MARK_DURATION] = "duration",
};

static void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "scene-marks: no memory\n");
	exit(1);
}

static uint8_t *read_all(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 20, n;
	uint8_t *bytes = need(malloc(room));

	if (!file) {
		perror(path);
		exit(1);
	}
	for (*len = 0; (n = fread(bytes + *len, 1, room - *len, file)) > 0;) {
		*len += n;
		if (*len == room)
			bytes = need(realloc(bytes, room *= 2));
	}
	fclose(file);
	return bytes;
}

static void add_all(struct mprof_model *m, uint32_t stream, const uint8_t *bytes, size_t len)
{
	struct mprof_order *order = need(mprof_order_new());
	struct mprof_decoder *d = need(mprof_decoder_new());
	enum mprof_status status;
	struct mprof_event event;
	size_t i;

	mprof_order_scan(order, bytes, len);
	for (i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		mprof_decoder_begin(d, span->offset, span->packet);
		mprof_decoder_feed(d, bytes + span->offset, span->bytes);
		mprof_decoder_finish(d);
		while ((status = mprof_decoder_next(d, &event)) != MPROF_END)
			if (status == MPROF_OK)
				mprof_model_add(m, stream, &event.raw);
	}
	mprof_decoder_free(d);
	mprof_order_free(order);
}

/* Return the thread to which a mark belongs, or MPROF_NONE. */
static uint32_t thread_of(const struct mprof_model_view *v, const struct mprof_mark *mark)
{
	switch (mark->kind) {
	case MPROF_MARK_HIGHLIGHT:
	case MPROF_MARK_THREAD:
	case MPROF_MARK_CREATION:
	case MPROF_MARK_BECOMES:
	case MPROF_MARK_OPEN_END:
	case MPROF_MARK_FAILED:
	case MPROF_MARK_LABEL:
	case MPROF_MARK_TYPE:
	case MPROF_MARK_TICK:
		return mark->item;
	case MPROF_MARK_RUNNING:
		return v->activations[mark->item].thread;
	default:
		return MPROF_NONE;
	}
}

static void print_mark(const struct mprof_model_view *v, const struct mprof_picture *p, const struct mprof_mark *mark)
{
	uint32_t thread = thread_of(v, mark);
	char text[8192];
	const char *left = mark->bytes ? p->text + mark->text : "";
	size_t bytes = mark->bytes, n;

	printf("{\"kind\":\"%s\",\"x0\":%.9g,\"y0\":%.9g,\"x1\":%.9g,\"y1\":%.9g,\"shade\":%u,\"count\":%u",
	       names[mark->kind], (double)mark->x0, (double)mark->y0, (double)mark->x1, (double)mark->y1, mark->shade,
	       mark->count);
	if (thread == MPROF_NONE)
		printf(",\"item\":%" PRIu32, mark->item);
	else
		printf(",\"id\":%" PRId64, v->threads[thread].id);
	if (mark->bytes) {
		n = mprof_text_json(text, sizeof(text), &left, &bytes);
		printf(",\"text\":\"%.*s\"", (int)n, text);
	}
	printf("}\n");
}

static int print_all(const struct mprof_model_view *v, char **numbers)
{
	struct mprof_scene *s = need(mprof_scene_new(v));
	struct mprof_window w = {.letter_width = 7};
	struct mprof_picture p;
	uint32_t i;

	w.flags = MPROF_WINDOW_ARROWS | MPROF_WINDOW_COUNTERS | MPROF_WINDOW_LABELS;
	w.from = v->streams[0].start + (uint64_t)strtoll(numbers[0], NULL, 10);
	w.to = v->streams[0].start + (uint64_t)strtoll(numbers[1], NULL, 10);
	w.width = strtof(numbers[2], NULL);
	w.height = strtof(numbers[3], NULL);
	w.focus = strtod(numbers[4], NULL);
	if (mprof_scene_draw(s, &w, &p) != MPROF_OK) {
		fprintf(stderr, "scene-marks: it cannot be drawn\n");
		return 1;
	}
	printf("{\"rows\":%" PRIu32 "}\n", v->rows);
	for (i = 0; i < p.n_marks; i++)
		print_mark(v, &p, &p.marks[i]);
	mprof_scene_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct mprof_model *m = need(mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 1}));
	uint32_t stream;
	uint8_t *bytes;
	size_t len;
	int r;

	if (argc != 7) {
		fprintf(stderr, "usage: scene-marks FILE FROM TO WIDTH HEIGHT FOCUS\n");
		return 2;
	}
	bytes = read_all(argv[1], &len);
	mprof_model_stream(m, &(struct mprof_model_source){0}, &stream);
	add_all(m, stream, bytes, len);
	mprof_model_finish(m);
	r = print_all(mprof_model_view(m), argv + 2);
	mprof_model_free(m);
	free(bytes);
	return r;
}
