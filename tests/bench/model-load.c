/*
 * model-load: build a model and print one line of JSON about the model.
 *
 *  model-load FILE                  of a trace, whose packets must be in order
 *  model-load shape NAME THREADS    of a shape that is expensive to load (shapes.h)
 *
 * The line has the largest memory that the model had, and the growth of the process. The trace is
 * mapped from its file and counts in neither.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mprof/model.h>

#include "shapes.h"

#define BATCH 256u

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Return the processor time of this process in ns. Other programs do not change it. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Return the most anonymous memory that the process has had, in bytes. Pages of the mapped file do
 * not count.
 */
static uint64_t anonymous(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssAnon:", 8))
			kib = strtoul(line + 8, NULL, 10);
	if (status)
		fclose(status);
	return (uint64_t)kib * 1024;
}

static void add_all(struct mprof_model *m, uint32_t stream, const uint8_t *bytes, size_t len)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	size_t n, added;

	if (!d)
		die("decoder");
	mprof_decoder_feed(d, bytes, len);
	mprof_decoder_finish(d);
	while (status != MPROF_END) {
		n = mprof_decoder_batch(d, events, BATCH, &status);
		if (mprof_model_add_batch(m, stream, events, n, &added) != MPROF_OK)
			die("model");
	}
	mprof_decoder_free(d);
}

static void add_shape(struct mprof_model *m, uint32_t stream, const struct shape *shape, uint64_t n)
{
	struct mprof_event events[BATCH];
	char texts[BATCH][32];
	size_t filled = 0, added;
	uint64_t i;
	uint32_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < shape->events; k++) {
			shape->event(i, k, n, &events[filled].raw, texts[filled]);
			if (++filled < BATCH && (i + 1 < n || k + 1 < shape->events))
				continue;
			if (mprof_model_add_batch(m, stream, events, filled, &added) != MPROF_OK)
				die("model");
			filled = 0;
		}
}

static void *map_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) != 0)
		die(path);
	*len = (size_t)st.st_size;
	bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		die(path);
	return bytes;
}

static void report(const struct mprof_model *m, uint64_t add_ns, uint64_t finish_ns, uint64_t filled)
{
	const struct mprof_model_view *v = mprof_model_view(m);
	uint64_t held, most;

	mprof_model_memory(m, &held, &most);
	printf("{\"add_ns\": %" PRIu64 ", \"finish_ns\": %" PRIu64 ", \"events\": %" PRIu64 ", \"threads\": %" PRIu32
	       ", \"rows\": %" PRIu32 ", \"held\": %" PRIu64 ", \"most\": %" PRIu64 ", \"filled_anonymous\": %" PRIu64
	       ", \"end_anonymous\": %" PRIu64 ", \"recreated\": %" PRIu64 ", \"not_first\": %" PRIu64 "}\n",
	       add_ns, finish_ns, v->streams[0].events, v->n_threads, v->rows, held, most, filled, anonymous(),
	       v->notes.recreated, v->notes.rows_not_first);
}

int main(int argc, char **argv)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = now_ns()});
	const struct shape *shape = argc == 4 && strcmp(argv[1], "shape") == 0 ? shape_find(argv[2]) : NULL;
	uint64_t began, added, filled;
	uint32_t stream = 0;
	size_t len;
	void *bytes;

	if ((argc != 2 && !shape) || !m || mprof_model_stream(m, &(struct mprof_model_source){0}, &stream) != MPROF_OK)
		die("model-load FILE | shape NAME THREADS");
	began = now_ns();
	if (shape) {
		add_shape(m, stream, shape, strtoull(argv[3], NULL, 10));
	} else {
		bytes = map_file(argv[1], &len);
		add_all(m, stream, bytes, len);
	}
	added = now_ns();
	filled = anonymous();
	if (mprof_model_finish(m) != MPROF_OK)
		die("finish");
	report(m, added - began, now_ns() - added, filled);
	mprof_model_free(m);
	return 0;
}
