/*
 * scene-load: make a scene and its pictures, and print one line of JSON about them:
 * scene-load FILE | scene-load shape NAME THREADS. The arguments are those of model-load.
 *
 * The pictures zoom in at three places and pan at three depths. After each picture the peer draws
 * the same window: it visits every item of the model and makes a mark of each item in the window.
 * The benchmark fails if a thread that the peer draws is not on a line of the picture.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mprof/scene.h>

#include "shapes.h"

#define BATCH 256u
#define WIDE  1600
#define HIGH  1000
#define TOUR  1000u
/* The page asks for these; it draws counters in lanes of their own. */
#define FLAGS \
	(MPROF_WINDOW_LABELS | MPROF_WINDOW_ARROWS | MPROF_WINDOW_TRACKED | MPROF_WINDOW_DENSE | MPROF_WINDOW_SHADED)
#define MARKS 65536u /* size of the array that the peer's marks fill again and again */
#define NEAR  2	     /* rows that are drawn at one height are at most this many pixels apart */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_trace(struct mprof_model *m, const char *path)
{
	struct mprof_decoder *d = mprof_decoder_new();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	struct stat st;
	size_t added, n;
	void *bytes;

	if (!d || fd < 0 || fstat(fd, &st) != 0)
		die(path);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		die(path);
	mprof_decoder_feed(d, bytes, (size_t)st.st_size);
	mprof_decoder_finish(d);
	while (status != MPROF_END) {
		n = mprof_decoder_batch(d, events, BATCH, &status);
		if (mprof_model_add_batch(m, 0, events, n, &added) != MPROF_OK)
			die("model");
	}
	mprof_decoder_free(d);
	munmap(bytes, (size_t)st.st_size);
	close(fd);
}

static void add_shape(struct mprof_model *m, const struct shape *shape, uint64_t n)
{
	struct mprof_event e;
	char text[32];
	uint64_t i;
	uint32_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < shape->events; k++) {
			shape->event(i, k, n, &e.raw, text);
			if (mprof_model_add(m, 0, &e.raw) != MPROF_OK)
				die("model");
		}
}

/* The peer, which draws without an index, to compare the scene with. */
struct peer {
	struct mprof_scene *scene;
	const struct mprof_model_view *v;
	struct mprof_window w;
	float *heights; /* height of each row */
	struct mprof_mark *marks;
	uint64_t n;
	uint8_t *drawn; /* for each pixel, whether the scene drew a thread's line there */
	uint64_t hidden;
};

static double x_of(const struct peer *p, uint64_t time)
{
	double scale = p->w.width / (double)(p->w.to - p->w.from);

	return time < p->w.from ? -(double)(p->w.from - time) * scale : (double)(time - p->w.from) * scale;
}

static void put(struct peer *p, uint64_t from, uint64_t to, uint32_t a, uint32_t b, uint32_t item)
{
	const struct mprof_thread *t = p->v->threads;

	if (to < p->w.from || from > p->w.to || a == MPROF_NONE || b == MPROF_NONE || t[a].row == MPROF_NONE ||
	    t[b].row == MPROF_NONE)
		return;
	p->marks[p->n++ % MARKS] = (struct mprof_mark){
		.x0 = (float)x_of(p, from),
		.x1 = (float)x_of(p, to),
		.y0 = p->heights[t[a].row],
		.y1 = p->heights[t[b].row],
		.item = item,
	};
}

static void scan(struct peer *p)
{
	const struct mprof_model_view *v = p->v;
	uint32_t i;

	p->n = 0;
	for (i = 0; i < v->rows; i++)
		p->heights[i] = mprof_scene_y(p->scene, &p->w, i);
	for (i = 0; i < v->n_threads; i++)
		put(p, v->threads[i].start, v->threads[i].end, i, i, i);
	for (i = 0; i < v->n_activations; i++)
		put(p, v->activations[i].start, v->activations[i].end, v->activations[i].thread,
		    v->activations[i].thread, i);
	for (i = 0; i < v->n_interactions; i++)
		put(p, v->interactions[i].time, v->interactions[i].time, v->interactions[i].thread,
		    v->interactions[i].other, i);
	for (i = 0; i < v->n_labels; i++)
		put(p, v->labels[i].time, v->labels[i].time, v->labels[i].thread, v->labels[i].thread, i);
	for (i = 0; i < v->n_samples; i++)
		put(p, v->samples[i].time, v->samples[i].time, v->samples[i].thread, v->samples[i].thread, i);
}

/* Set DRAWN for the lines of threads in PICTURE. */
static void paint(struct peer *p, const struct mprof_picture *picture)
{
	uint32_t i;
	int x, y, end;

	memset(p->drawn, 0, WIDE * HIGH);
	for (i = 0; i < picture->n_marks; i++) {
		const struct mprof_mark *mark = &picture->marks[i];

		if (mark->kind != MPROF_MARK_THREAD && mark->kind != MPROF_MARK_FAILED)
			continue;
		y = (int)fminf(mark->y0, HIGH - 1);
		end = (int)fminf(mark->x1 + 1, WIDE - 1);
		for (x = (int)fmaxf(mark->x0 - 1, 0); x <= end; x++)
			p->drawn[y * WIDE + x] = 1;
	}
}

/*
 * Return whether a thread whose line begins or ends in the picture at X and HEIGHT is on a line of
 * the picture. Return true if X is outside.
 */
static bool is_seen(const struct peer *p, double x, float height)
{
	int y, at = (int)height, column = (int)x;

	if (x < 0 || x >= WIDE)
		return true;
	for (y = at - NEAR; y <= at + NEAR; y++)
		if (y >= 0 && y < HIGH && p->drawn[y * WIDE + column])
			return true;
	return false;
}

static void check(struct peer *p, const struct mprof_picture *picture)
{
	const struct mprof_thread *t = p->v->threads, *end = t + p->v->n_threads;

	paint(p, picture);
	for (; t < end; t++)
		if (t->row != MPROF_NONE && t->start <= p->w.to && t->end >= p->w.from)
			p->hidden += !is_seen(p, x_of(p, t->start), p->heights[t->row]) ||
				     !is_seen(p, x_of(p, t->end), p->heights[t->row]);
}

struct tour {
	struct peer peer;
	uint64_t ours[TOUR], theirs[TOUR];
	uint32_t n;
};

static void visit(struct tour *t, uint64_t from, uint64_t part, double focus)
{
	struct mprof_picture picture;
	uint64_t began = now_ns(), drawn;

	t->peer.w = (struct mprof_window){from, from + part, focus, WIDE, HIGH, 7, FLAGS, 0, 0};
	if (t->n == TOUR || mprof_scene_draw(t->peer.scene, &t->peer.w, &picture) != MPROF_OK)
		die("picture");
	drawn = now_ns();
	scan(&t->peer);
	t->ours[t->n] = drawn - began;
	t->theirs[t->n++] = now_ns() - drawn;
	check(&t->peer, &picture);
}

static void travel(struct tour *t)
{
	const struct mprof_model_view *v = t->peer.v;
	uint64_t start = v->streams[0].start, span = v->streams[0].end - start + 1, part, i;

	for (part = span; part > 1000; part /= 3)
		for (i = 0; i < 3; i++)
			visit(t, start + (span - part) / 2 * i, part, v->rows / 2.0 * (double)i);
	for (part = span / 4; part > 1000 && part >= span / 400; part /= 10)
		for (i = 0; i < 10; i++)
			visit(t, start + (span - part) / 2 + part / 10 * i, part, v->rows / 3.0);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void report(struct tour *t, uint64_t index_ns)
{
	qsort(t->ours, t->n, sizeof(*t->ours), by_time);
	qsort(t->theirs, t->n, sizeof(*t->theirs), by_time);
	printf("{\"events\": %" PRIu64 ", \"index_ns\": %" PRIu64 ", \"pictures\": %" PRIu32 ", \"median_ns\": %" PRIu64
	       ", \"p99_ns\": %" PRIu64 ", \"peer_median_ns\": %" PRIu64 ", \"hidden\": %" PRIu64 "}\n",
	       t->peer.v->streams[0].events, index_ns, t->n, t->ours[t->n / 2], t->ours[(t->n - 1) * 99 / 100],
	       t->theirs[t->n / 2], t->peer.hidden);
}

int main(int argc, char **argv)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = now_ns()});
	const struct shape *shape = argc == 4 && strcmp(argv[1], "shape") == 0 ? shape_find(argv[2]) : NULL;
	static struct tour tour;
	struct peer *p = &tour.peer;
	uint64_t began;
	uint32_t stream;

	if ((argc != 2 && !shape) || !m || mprof_model_stream(m, &(struct mprof_model_source){0}, &stream) != MPROF_OK)
		die("scene-load FILE | shape NAME THREADS");
	if (shape)
		add_shape(m, shape, strtoull(argv[3], NULL, 10));
	else
		add_trace(m, argv[1]);
	if (mprof_model_finish(m) != MPROF_OK)
		die("finish");
	p->v = mprof_model_view(m);
	began = now_ns();
	p->scene = mprof_scene_new(p->v);
	began = now_ns() - began;
	p->heights = calloc((size_t)p->v->rows + 1, sizeof(*p->heights));
	p->marks = calloc(MARKS, sizeof(*p->marks));
	p->drawn = malloc(WIDE * HIGH);
	if (!p->scene || !p->heights || !p->marks || !p->drawn)
		die("scene");
	travel(&tour);
	report(&tour, began);
	free(p->heights);
	free(p->marks);
	free(p->drawn);
	mprof_scene_free(p->scene);
	mprof_model_free(m);
	return 0;
}
