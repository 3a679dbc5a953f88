/* Unit tests of the reader of OCaml's runtime events, beside a program that writes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/runtime.h>

#include "check.h"

#define WORDS	    1024u
#define DATA	    (64u + 80u)
#define NAMES_BYTES (8192u * 128u)
#define FILE_BYTES  (DATA + WORDS * 8u + NAMES_BYTES)

/* A ring file, and the writer's side of it, as OCaml's runtime writes it. */
struct program {
	uint64_t *file;
	uint64_t head, tail; /* words */
	uint64_t events, written;
	unsigned int pause; /* a pause of the writer after so many events; 0 = none */
	bool done;
};

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void publish(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static struct program *program_new(void)
{
	const uint64_t header[8] = {1, 1, 80, WORDS * 8, WORDS, 64, DATA, DATA + WORDS * 8};
	struct program *p = calloc(1, sizeof(*p));

	CHECK(p);
	p->file = aligned_alloc(8, FILE_BYTES);
	CHECK(p->file);
	memset(p->file, 0, FILE_BYTES);
	memcpy(p->file, header, sizeof(header));
	strcpy((char *)p->file + DATA + WORDS * 8, "numbered");
	return p;
}

static void program_free(struct program *p)
{
	free(p->file);
	free(p);
}

static uint64_t *word_at(struct program *p, uint64_t position)
{
	return p->file + DATA / 8 + position % WORDS;
}

/* Make room for N words, with padding in front if they do not fit behind the tail. */
static void make_room(struct program *p, uint64_t n)
{
	uint64_t left = WORDS - p->tail % WORDS, padding = left < n ? left : 0;

	while (p->tail + padding + n - p->head >= WORDS)
		p->head += __atomic_load_n(word_at(p, p->head), __ATOMIC_RELAXED) >> 54;
	publish(p->file + 8, p->head);
	if (!padding)
		return;
	store(word_at(p, p->tail), padding << 54);
	p->tail += padding;
	publish(p->file + 9, p->tail);
}

/* Write the custom event NUMBER, with a payload that depends on it, of 2 to 41 words. */
static void write_event(struct program *p, uint64_t number)
{
	uint64_t data = 2 + number % 40, n = 2 + data;

	make_room(p, n);
	store(word_at(p, p->tail), n << 54 | 1ull << 53 | 4ull << 49);
	store(word_at(p, p->tail + 1), 1000 + number);
	for (uint64_t i = 0; i < data - 1; i++)
		store(word_at(p, p->tail + 2 + i), number * 0x9e3779b97f4a7c15 + i);
	store(word_at(p, p->tail + 1 + data), 7ull << 56);
	p->tail += n;
	publish(p->file + 9, p->tail);
}

/* The reader's side: every event is whole, and none is missing unless words were lost before it. */
struct reading {
	uint64_t next, events, lost, damages;
	bool gap;
};

static int on_item(void *context, uint32_t ring, const struct mprof_runtime_item *item)
{
	struct reading *r = context;
	uint64_t number = item->time - 1000;

	CHECK(ring == 0 && item->kind == MPROF_RUNTIME_USER_CUSTOM && strcmp(item->name, "numbered") == 0);
	CHECK(item->data_bytes == (1 + number % 40) * 8);
	for (size_t i = 0; i < item->data_bytes / 8; i++)
		CHECK(mprof_load64(item->data + i * 8) == number * 0x9e3779b97f4a7c15 + i);
	CHECK(number == r->next || (r->gap && number > r->next));
	r->gap = false;
	r->next = number + 1;
	r->events++;
	return 0;
}

static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	struct reading *r = context;

	CHECK(ring == 0 && words);
	r->gap = true;
	r->lost += words;
	return 0;
}

static int on_damage(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage)
{
	struct reading *r = context;

	(void)ring, (void)position, (void)damage;
	r->damages++;
	return 0;
}

static void *write_all_events(void *context)
{
	struct program *p = context;

	for (uint64_t i = 0; i < p->events; i++) {
		write_event(p, i);
		for (unsigned int k = 0; p->pause && i % p->pause == 0 && k < 2000; k++)
			__asm__ volatile("" ::: "memory");
	}
	__atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Read beside the writer until it is done. */
static struct reading read_beside(unsigned int pause, uint64_t events)
{
	struct program *p = program_new();
	struct mprof_runtime_map map = {.bytes = p->file, .len = FILE_BYTES};
	struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = &map};
	struct reading reading = {0};
	struct mprof_runtime_sink sink = {.item = on_item, .lost = on_lost, .damage = on_damage, .context = &reading};
	struct mprof_runtime_layout layout;
	struct mprof_runtime *r;
	pthread_t thread;
	bool done;

	p->pause = pause;
	p->events = events;
	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_OK);
	r = mprof_runtime_new(&memory, &layout);
	CHECK(r && pthread_create(&thread, NULL, write_all_events, p) == 0);
	do {
		done = __atomic_load_n(&p->done, __ATOMIC_ACQUIRE);
		CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK);
	} while (!done);
	pthread_join(thread, NULL);
	CHECK(reading.next == events && reading.damages == 0);
	CHECK(reading.lost == mprof_runtime_totals(r)->lost_words);
	CHECK(reading.events == events || reading.lost);
	mprof_runtime_free(r);
	program_free(p);
	return reading;
}

static void test_beside_writer(void)
{
	CHECK(read_beside(0, 200000).events);
	CHECK(read_beside(4, 50000).events);
}

/* Memory whose program writes once more while a reader copies words. */
struct moving {
	struct mprof_runtime_map map;
	struct program *program;
	bool moves;
};

static bool moving_load(void *context, uint64_t offset, void *to, size_t words)
{
	struct moving *m = context;
	bool good = mprof_runtime_map_load(&m->map, offset, to, words);

	if (!m->moves || offset < DATA || offset >= DATA + WORDS * 8)
		return good;
	m->moves = false;
	for (unsigned int i = 0; i < 3; i++)
		write_event(m->program, m->program->written++);
	return good;
}

/* A head that moves during a copy costs words and is no damage, whether the copy is thrown away or not. */
static void test_head_moves(void)
{
	struct program *p = program_new();
	struct moving moving = {.map = {.bytes = p->file, .len = FILE_BYTES}, .program = p};
	struct mprof_runtime_memory memory = {.load = moving_load, .context = &moving};
	struct reading reading = {0};
	struct mprof_runtime_sink sink = {.item = on_item, .lost = on_lost, .damage = on_damage, .context = &reading};
	struct mprof_runtime_layout layout;
	struct mprof_runtime *r;

	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_OK);
	r = mprof_runtime_new(&memory, &layout);
	while (p->written < 100)
		write_event(p, p->written++);
	moving.moves = true;
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK && !moving.moves);
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK);
	CHECK(reading.next == 103 && reading.damages == 0 && reading.lost);
	CHECK(reading.lost == mprof_runtime_totals(r)->lost_words);
	mprof_runtime_free(r);
	program_free(p);
}

/* A sink stops the reading; the next call goes on behind the item that it got. */
static int stop_at_item(void *context, uint32_t ring, const struct mprof_runtime_item *item)
{
	on_item(context, ring, item);
	return item->time % 2 ? 5 : 0;
}

static void test_stop(void)
{
	struct program *p = program_new();
	struct mprof_runtime_map map = {.bytes = p->file, .len = FILE_BYTES};
	struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = &map};
	struct reading reading = {0};
	struct mprof_runtime_sink sink = {.item = stop_at_item, .lost = on_lost, .context = &reading};
	struct mprof_runtime_layout layout;
	struct mprof_runtime *r;
	int stopped = 5, calls = 0;

	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_OK);
	r = mprof_runtime_new(&memory, &layout);
	for (uint64_t i = 0; i < 10; i++)
		write_event(p, i);
	for (; stopped == 5; calls++)
		CHECK(mprof_runtime_read(r, &sink, &stopped) == MPROF_OK);
	CHECK(reading.events == 10 && !reading.lost && calls == 6 && stopped == 0);
	mprof_runtime_free(r);
	program_free(p);
}

/* A header that is being written is asked for again; any other value is refused. */
static void test_header(void)
{
	struct program *p = program_new();
	struct mprof_runtime_map map = {.bytes = p->file, .len = FILE_BYTES};
	struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = &map};
	struct mprof_runtime_layout layout;
	uint64_t whole[8];

	memcpy(whole, p->file, sizeof(whole));
	CHECK(mprof_runtime_begins(p->file, 64) && !mprof_runtime_begins(p->file, 63));
	memset(p->file, 0, sizeof(whole));
	CHECK(mprof_runtime_layout_load(&layout, &memory, 0) == MPROF_MORE);
	for (int i = 0; i < 8; i++) {
		CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_MORE);
		p->file[i] = whole[i];
	}
	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_OK);
	CHECK(layout.rings == 1 && layout.ring_words == WORDS && layout.names == DATA + WORDS * 8);
	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES - 8) == MPROF_CORRUPT);
	for (int i = 0; i < 8; i++) {
		p->file[i] = whole[i] + 1;
		CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_CORRUPT);
		p->file[i] = UINT64_MAX;
		CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_CORRUPT);
		p->file[i] = whole[i];
	}
	program_free(p);
}

/* Heads and tails that contradict each other are damage, and the ring is read again when they do not. */
static void test_bad_ring(void)
{
	struct program *p = program_new();
	struct mprof_runtime_map map = {.bytes = p->file, .len = FILE_BYTES};
	struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = &map};
	struct reading reading = {0};
	struct mprof_runtime_sink sink = {.item = on_item, .lost = on_lost, .damage = on_damage, .context = &reading};
	struct mprof_runtime_layout layout;
	struct mprof_runtime *r;

	CHECK(mprof_runtime_layout_load(&layout, &memory, FILE_BYTES) == MPROF_OK);
	r = mprof_runtime_new(&memory, &layout);
	write_event(p, 0);
	p->file[8] = p->tail + 1;
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK && reading.damages == 1 && !reading.events);
	p->file[8] = 0;
	p->file[9] = WORDS;
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK && reading.damages == 2 && !reading.events);
	p->file[9] = p->tail;
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK && reading.damages == 2 && reading.events == 1);
	p->file[9] = p->tail - 1;
	CHECK(mprof_runtime_read(r, &sink, NULL) == MPROF_OK && reading.damages == 3 && reading.events == 1);
	mprof_runtime_free(r);
	program_free(p);
}

int main(void)
{
	CHECK_RUN(test_header);
	CHECK_RUN(test_stop);
	CHECK_RUN(test_bad_ring);
	CHECK_RUN(test_head_moves);
	CHECK_RUN(test_beside_writer);
	return check_done();
}
