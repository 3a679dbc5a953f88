/*
 * mem-load FILE BYTES [LIVE]: write a memory profile for the benchmarks of its readers.
 * mem-load --read FILE: decode a profile event by event with its stacks, and only count the events,
 * to compare other readers with this.
 * mem-load --memory COMMAND...: run a command without its output. Print its largest resident set, KiB.
 *
 * The profile is that of a program with two thousand places that allocate. The program goes up and
 * down a tree of five thousand stacks, of 7.6 frames on average. After every four hundred small
 * objects, a minor collection promotes one object in twenty. Twenty thousand (LIVE) promoted or
 * large objects live at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem-encode.h"

#define PLACES	  2000u
#define FILES	  60u
#define CALLS	  5000u
#define DEPTH_MAX 8u
#define YOUNG	  400u
#define LIVE	  20000u
#define READ	  (256u << 10)

/* A call in the tree of stacks, made by call BY. */
struct call {
	uint32_t by, place, depth;
	uint32_t first, n; /* the calls that this call makes */
};

struct loading {
	FILE *out;
	uint64_t bytes;
	uint64_t random;
	struct mprof_mem_code codes[PLACES];
	struct mprof_mem_location locations[PLACES];
	char name[64];
	struct call calls[CALLS];
	uint32_t at; /* index of the running call */
	uint32_t stack[DEPTH_MAX];
	int64_t young[YOUNG];
	int64_t live[LIVE]; /* ids of the objects that live; 0 for none */
	uint32_t n_young, n_live, most_live;
	uint64_t time_us;
	struct mem_encoder *encoder;
};

static uint64_t draw(struct loading *l, uint64_t n)
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return (l->random * 0x2545f4914f6cdd1d >> 32) % n;
}

static int put(void *data, const void *bytes, size_t n)
{
	struct loading *l = data;

	l->bytes += n;
	return fwrite(bytes, 1, n, l->out) == n ? 0 : -EIO;
}

static const struct mprof_mem_code *code(void *names, uint32_t i)
{
	return &((struct loading *)names)->codes[i];
}

static const struct mprof_mem_location *location(void *names, uint32_t i)
{
	return &((struct loading *)names)->locations[i];
}

static const char *string(void *names, uint32_t i, size_t *bytes)
{
	struct loading *l = names;
	int n = i < FILES
			? snprintf(l->name, sizeof(l->name), "src/module_%u.ml", i)
			: snprintf(l->name, sizeof(l->name), "Dune__exe__Module_%u.function_%u", i % FILES, i - FILES);

	*bytes = (size_t)n;
	return l->name;
}

static void places_make(struct loading *l)
{
	for (uint32_t i = 1; i < PLACES; i++) {
		l->codes[i] = (struct mprof_mem_code){
			.code = 0x55550000u + i * 48, .first_location = i, .locations = 1, .explained = true};
		l->locations[i] = (struct mprof_mem_location){
			.file = i % FILES, .function = FILES + i, .line = i, .first = 4, .last = 20};
	}
}

/* Make the tree of calls, level by level. Each call makes up to three other calls. */
static void calls_make(struct loading *l)
{
	uint32_t n = 1;

	l->calls[0] = (struct call){.place = 1, .depth = 1};
	for (uint32_t i = 0; i < n; i++) {
		struct call *call = &l->calls[i];
		uint32_t more = n < 40 ? 3 : 1 + (uint32_t)draw(l, 3);

		call->first = n;
		for (; more && n < CALLS && call->depth < DEPTH_MAX; more--, call->n++)
			l->calls[n++] = (struct call){
				.by = i, .place = 1 + (uint32_t)draw(l, PLACES - 1), .depth = call->depth + 1};
	}
}

/* Return from up to two calls, and make up to five new calls. */
static void step(struct loading *l)
{
	uint64_t returns = draw(l, 3), calls = 1 + draw(l, 5);

	for (; returns; returns--)
		l->at = l->calls[l->at].by;
	for (; calls && l->calls[l->at].n; calls--) {
		/* Mostly choose the first call. */
		uint64_t which = draw(l, 3) ? 0 : draw(l, l->calls[l->at].n);

		l->at = l->calls[l->at].first + (uint32_t)which;
	}
}

/* Write the stack of the running call to STACK. Return the number of its frames. */
static uint32_t stack_of(struct loading *l)
{
	uint32_t depth = l->calls[l->at].depth, at = l->at;

	for (uint32_t i = depth; i-- > 0; at = l->calls[at].by)
		l->stack[i] = l->calls[at].place;
	return depth;
}

static int end(struct loading *l, uint8_t kind, int64_t id)
{
	return mem_encoder_add(l->encoder, &(struct mprof_mem_event){.kind = kind, .time_us = l->time_us, .id = id});
}

/* Keep object ID alive for long. If as many objects live as allowed, end one of them. */
static int keep(struct loading *l, int64_t id)
{
	uint32_t i = l->n_live < l->most_live ? l->n_live++ : (uint32_t)draw(l, l->most_live);
	int r = l->live[i] ? end(l, MPROF_MEM_COLLECT, l->live[i]) : 0;

	l->live[i] = id;
	return r;
}

static int minor_collection(struct loading *l)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < l->n_young; i++) {
		if (draw(l, 20)) {
			r = end(l, MPROF_MEM_COLLECT, l->young[i]);
			continue;
		}
		r = end(l, MPROF_MEM_PROMOTE, l->young[i]);
		r = r ? r : keep(l, l->young[i]);
	}
	l->n_young = 0;
	return r;
}

static int alloc(struct loading *l)
{
	int64_t id = mem_encoder_next_id(l->encoder);
	bool small = draw(l, 50);
	struct mprof_mem_event e = {
		.kind = MPROF_MEM_ALLOC,
		.time_us = l->time_us,
		.length = small ? 1 + draw(l, 9) : 300,
		.samples = 1,
		.source = small ? MPROF_MEM_MINOR : MPROF_MEM_MAJOR,
		.stack = l->stack,
	};
	int r;

	step(l);
	e.frames = stack_of(l);
	r = mem_encoder_add(l->encoder, &e);
	if (r || !small)
		return r ? r : keep(l, id);
	l->young[l->n_young++] = id;
	return l->n_young == YOUNG ? minor_collection(l) : 0;
}

static int load(struct loading *l, uint64_t bytes)
{
	const struct mprof_mem_info info = {
		.rate = 1e-4,
		.start_us = 1795259273941809u,
		.pid = -1,
		.word_bytes = 8,
		.version = 2,
		.program = "mirage",
		.host = "mirage_unikernel",
		.parameters = "s=256k",
		.context = "",
	};
	const struct mem_encoder_ops ops = {
		.put = put, .code = code, .location = location, .string = string, .context = l, .names = l};
	int r = 0;

	places_make(l);
	calls_make(l);
	l->time_us = info.start_us;
	l->encoder = mem_encoder_new(&info, &ops);
	if (!l->encoder)
		return -ENOMEM;
	while (!r && l->bytes < bytes) {
		l->time_us += draw(l, 40);
		r = alloc(l);
	}
	r = r ? r : mem_encoder_flush(l->encoder);
	mem_encoder_free(l->encoder);
	return r;
}

/* Decode the stream event by event, and only count. */
static int count(FILE *in)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 1});
	uint8_t *bytes = malloc(READ);
	uint64_t events = 0, frames = 0;
	struct mprof_mem_event e;
	size_t n;

	setvbuf(in, NULL, _IONBF, 0);
	while (d && bytes && (n = fread(bytes, 1, READ, in)) > 0) {
		mprof_mem_feed(d, bytes, n);
		while (mprof_mem_next(d, &e) == MPROF_OK) {
			events += e.kind != MPROF_MEM_BEGIN;
			frames += e.kind == MPROF_MEM_ALLOC ? e.frames : 0;
		}
	}
	printf("%" PRIu64 " events, %" PRIu64 " frames\n", events, frames);
	mprof_mem_free(d);
	free(bytes);
	return ferror(in) ? -EIO : 0;
}

/*
 * Run ARGV and print the largest resident set. The kernel counts from before exec() on, so the caller of
 * exec() must be a small process like this one.
 */
static int memory(char **argv)
{
	struct rusage used;
	pid_t child = fork();
	int status, null;

	if (child == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child)
		return -errno;
	printf("%ld\n", used.ru_maxrss);
	return status ? -ECHILD : 0;
}

static int work(int argc, char **argv)
{
	struct loading *l = calloc(1, sizeof(*l));
	bool read = strcmp(argv[1], "--read") == 0;
	FILE *file = fopen(argv[read ? 2 : 1], read ? "rb" : "wb");
	int r = -ENOMEM;

	if (l && file && !read) {
		l->random = 88172645463325252u;
		l->most_live = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : LIVE;
		l->out = file;
		r = l->most_live && l->most_live <= LIVE ? load(l, strtoull(argv[2], NULL, 10)) : -EINVAL;
	} else if (file) {
		r = count(file);
	}
	if (file && fclose(file) && !r)
		r = -EIO;
	free(l);
	return r;
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 3 || (argc > 4 && strcmp(argv[1], "--memory") != 0)) {
		fprintf(stderr, "Usage: mem-load FILE BYTES [LIVE]\n       mem-load --read FILE\n"
				"       mem-load --memory COMMAND...\n");
		return 2;
	}
	r = strcmp(argv[1], "--memory") == 0 ? memory(argv + 2) : work(argc, argv);
	if (r)
		fprintf(stderr, "mem-load: %s\n", strerror(-r));
	return r ? 1 : 0;
}
