/*
 * model-load FILE: decode a trace and build its model, of which it prints one line of JSON.
 *
 * The file is mapped and its packets are in order.  Memory is what the model says that it held at most, and what the system says that the
 * process grew by; the trace itself, being mapped from a file, is in neither.
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

#define BATCH 256u

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Time of the processor, so that what else runs on the machine is not in it. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The most anonymous memory that the process had so far, in bytes: the file's pages are not counted. */
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

int main(int argc, char **argv)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = now_ns()});
	uint64_t began, added, finished, held, most, filled;
	const struct mprof_model_view *v;
	uint32_t stream = 0;
	size_t len;
	void *bytes;

	if (argc != 2 || !m || mprof_model_stream(m, &(struct mprof_model_source){0}, &stream) != MPROF_OK)
		die("model-load FILE");
	began = now_ns();
	bytes = map_file(argv[1], &len);
	add_all(m, stream, bytes, len);
	added = now_ns();
	filled = anonymous();
	if (mprof_model_finish(m) != MPROF_OK)
		die("finish");
	finished = now_ns();
	v = mprof_model_view(m);
	mprof_model_memory(m, &held, &most);
	printf("{\"add_ns\": %" PRIu64 ", \"finish_ns\": %" PRIu64 ", \"events\": %" PRIu64 ", \"threads\": %" PRIu32
	       ", \"rows\": %" PRIu32 ", \"held\": %" PRIu64 ", \"most\": %" PRIu64 ", \"filled_anonymous\": %" PRIu64
	       ", \"end_anonymous\": %" PRIu64 ", \"recreated\": %" PRIu64 ", \"not_first\": %" PRIu64 "}\n",
	       added - began, finished - added, v->streams[0].events, v->n_threads, v->rows, held, most, filled,
	       anonymous(), v->notes.recreated, v->notes.rows_not_first);
	mprof_model_free(m);
	return 0;
}
