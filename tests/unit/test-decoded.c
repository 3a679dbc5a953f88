/* Decoded rows in a file: found by their checksums, overwritten in turn, and never taken when they are wrong. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "codec.h"
#include "decode-thread.h"
#include "decoded.h"

#define ROW   100000u
#define ROWS  10u
#define PLACE (4 * ROW) /* room for four rows */

struct stored {
	char directory[64];
	int fd;
	struct decoded *d;
	struct codec_writer codec;
	struct decode_batch batch;
	uint8_t *plain, *out;
};

static void row_make(uint8_t *out, unsigned number)
{
	for (size_t i = 0; i < ROW; i++)
		out[i] = (uint8_t)(i / 7 * (number + 1));
}

static void key_of(uint8_t key[CHECKSUM_BYTES], unsigned number)
{
	memset(key, 0, CHECKSUM_BYTES);
	key[0] = (uint8_t)number;
}

/* Have rows FROM to BEFORE stored, and wait for that. */
static void store(struct stored *s, unsigned from, unsigned before)
{
	struct pollfd stored = {.fd = decoded_fd(s->d), .events = POLLIN};

	CHECK(decoded_ready(s->d));
	decode_batch_clear(&s->batch);
	for (unsigned i = from; i < before; i++) {
		struct decode_frame frame = {.length = ROW, .keyed = true};
		struct codec_row row;

		row_make(s->plain, i);
		key_of(frame.key, i);
		row = codec_encode(&s->codec, s->plain, ROW);
		CHECK_EQ_INT(decode_batch_add(&s->batch, &frame, row.data, row.length), 0);
	}
	decoded_store(s->d, &s->batch);
	while (!decoded_ready(s->d))
		CHECK(poll(&stored, 1, -1) == 1);
}

static bool is_found(struct stored *s, unsigned number, struct decoded_place *place)
{
	uint8_t key[CHECKSUM_BYTES];

	key_of(key, number);
	return decoded_find(s->d, key, ROW, place);
}

/* Return whether row NUMBER is found, and read as it was. */
static bool holds(struct stored *s, unsigned number)
{
	struct decoded_place place;

	memset(s->out, 0xaa, ROW);
	row_make(s->plain, number);
	return is_found(s, number, &place) && decoded_read(&place, s->out) && memcmp(s->out, s->plain, ROW) == 0;
}

static bool stored_init(struct stored *s, uint64_t most)
{
	*s = (struct stored){.plain = malloc(ROW), .out = malloc(ROW)};
	strcpy(s->directory, "/tmp/mprof-decoded-XXXXXX");
	if (!CHECK(mkdtemp(s->directory) != NULL))
		return false;
	s->fd = open(s->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return CHECK(s->fd >= 0) && CHECK_EQ_INT(codec_writer_init(&s->codec, 1, ROW), 0) &&
	       CHECK_EQ_INT(decoded_new(&s->d, s->fd, most), 0);
}

static void stored_deinit(struct stored *s)
{
	decoded_free(s->d);
	decode_batch_deinit(&s->batch);
	codec_writer_deinit(&s->codec);
	close(s->fd);
	CHECK_EQ_INT(rmdir(s->directory), 0); /* no name was left */
	free(s->plain);
	free(s->out);
}

/* Return a descriptor of the store's file, which has no name. */
static int file_of(void)
{
	char path[64], target[256];
	ssize_t n;

	for (int fd = 3; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "/decoded (deleted)"))
			return fd;
	}
	return -1;
}

/* The newest rows are found, and a place that was found before is not read when it is overwritten. */
static void test_overwritten(void)
{
	struct decoded_place old;
	struct stored s;

	if (!stored_init(&s, PLACE + ROW / 2))
		return;
	CHECK(!is_found(&s, 0, &old));
	CHECK_EQ_UINT(decoded_room(s.d), PLACE + ROW / 2);
	store(&s, 0, 4);
	for (unsigned i = 0; i < 4; i++)
		CHECK(holds(&s, i));
	CHECK_EQ_UINT(decoded_room(s.d), ROW / 2);
	CHECK(is_found(&s, 0, &old));
	store(&s, 4, 6);
	CHECK(!decoded_read(&old, s.out));
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ_INT(holds(&s, i), i >= 2);
	CHECK_EQ_UINT(decoded_counts(s.d).missed, 1);
	CHECK_EQ_UINT(decoded_counts(s.d).reads, 8);
	for (unsigned i = 6; i < 200; i += ROWS) {
		store(&s, i, i + ROWS);
		CHECK(holds(&s, i + ROWS - 1) && holds(&s, i + ROWS - 3) && !holds(&s, i));
	}
	stored_deinit(&s);
}

/* A byte that has changed, and a file that was cut, are noticed. */
static void test_wrong(void)
{
	struct decoded_place place;
	struct stored s;
	uint8_t byte;

	if (!stored_init(&s, PLACE))
		return;
	store(&s, 0, 4);
	for (off_t at = 0; at < ROW; at += 4999) {
		CHECK(pread(file_of(), &byte, 1, ROW + at) == 1);
		byte ^= 0x10;
		CHECK(pwrite(file_of(), &byte, 1, ROW + at) == 1);
		CHECK(is_found(&s, 1, &place) && !decoded_read(&place, s.out));
		byte ^= 0x10;
		CHECK(pwrite(file_of(), &byte, 1, ROW + at) == 1);
		CHECK(holds(&s, 1));
	}
	CHECK_EQ_INT(ftruncate(file_of(), 3 * ROW + 1), 0);
	CHECK(is_found(&s, 3, &place) && !decoded_read(&place, s.out));
	CHECK(holds(&s, 2));
	stored_deinit(&s);
}

/* Frames that do not decode, have no key or have a copy are left out; other rows of the batch are stored. */
static void test_left_out(void)
{
	struct decoded_place place;
	struct stored s;

	if (!stored_init(&s, PLACE))
		return;
	store(&s, 0, 4);
	decode_batch_clear(&s.batch);
	store(&s, 4, 8);
	CHECK(holds(&s, 4) && holds(&s, 7));
	s.batch.frames[0].keyed = false;
	s.batch.bytes[s.batch.frames[1].at + 20] ^= 1;
	CHECK(is_found(&s, 6, &s.batch.frames[2].place));
	key_of(s.batch.frames[0].key, 100);
	key_of(s.batch.frames[1].key, 101);
	key_of(s.batch.frames[2].key, 102);
	key_of(s.batch.frames[3].key, 103);
	decoded_store(s.d, &s.batch);
	while (!decoded_ready(s.d))
		poll(&(struct pollfd){.fd = decoded_fd(s.d), .events = POLLIN}, 1, -1);
	CHECK(!is_found(&s, 100, &place) && !is_found(&s, 101, &place) && !is_found(&s, 102, &place));
	CHECK(is_found(&s, 103, &place));
	stored_deinit(&s);
}

/* A store that wants more room than its file system has stays empty. */
static void test_no_room(void)
{
	struct decoded_place place;
	struct stored s;
	struct stat st;

	if (!stored_init(&s, UINT64_MAX / 2))
		return;
	store(&s, 0, 4);
	decoded_check(s.d);
	CHECK(!is_found(&s, 0, &place));
	CHECK_EQ_UINT(decoded_counts(s.d).bytes, 0);
	CHECK(fstat(file_of(), &st) == 0 && st.st_size == 0);
	stored_deinit(&s);
}

/* A link with the file's name is removed, and its file keeps its content. A directory is in the way. */
static void test_hostile_names(void)
{
	struct decoded *other = NULL;
	char text[8] = "";
	struct stored s;
	struct stat st;
	int fd;

	if (!stored_init(&s, PLACE))
		return;
	fd = openat(s.fd, "victim", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, "victim", 6) == 6);
	CHECK_EQ_INT(symlinkat("victim", s.fd, "decoded"), 0);
	CHECK_EQ_INT(decoded_new(&other, s.fd, PLACE), 0);
	decoded_free(other);
	CHECK_EQ_INT(linkat(s.fd, "victim", s.fd, "decoded", 0), 0);
	CHECK_EQ_INT(decoded_new(&other, s.fd, PLACE), 0);
	decoded_free(other);
	CHECK(pread(fd, text, sizeof(text), 0) == 6 && strcmp(text, "victim") == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 1);
	close(fd);
	CHECK_EQ_INT(unlinkat(s.fd, "victim", 0), 0);

	CHECK_EQ_INT(mkdirat(s.fd, "decoded", 0700), 0);
	CHECK_EQ_INT(decoded_new(&other, s.fd, PLACE), -EEXIST);
	CHECK_EQ_INT(unlinkat(s.fd, "decoded", AT_REMOVEDIR), 0);
	store(&s, 0, 4);
	CHECK(holds(&s, 3));
	stored_deinit(&s);
}

struct creator {
	pthread_t thread;
	int directory;
	unsigned failed;
};

static void *create_many(void *context)
{
	struct creator *c = context;
	struct decoded *d = NULL;

	for (unsigned i = 0; i < 200; i++)
		if (decoded_new(&d, c->directory, PLACE) == 0)
			decoded_free(d);
		else
			c->failed++;
	return NULL;
}

/* Servers that begin at the same time in one directory have a file each. */
static void test_many_servers(void)
{
	struct creator others[3];
	struct stored s;

	if (!stored_init(&s, PLACE))
		return;
	store(&s, 0, 4);
	for (unsigned i = 0; i < 3; i++) {
		others[i] = (struct creator){.directory = s.fd};
		CHECK_EQ_INT(pthread_create(&others[i].thread, NULL, create_many, &others[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(others[i].thread, NULL);
		CHECK_EQ_UINT(others[i].failed, 0);
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK(holds(&s, i));
	stored_deinit(&s);
}

/* Rows are read while others take their places, by the decoding thread too. A batch decodes in any case. */
static void test_beside(void)
{
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	struct decode_batch reads = {0};
	uint8_t *out = malloc(2 * ROW);
	struct stored s;

	if (!stored_init(&s, 2 * ROW) || !CHECK_EQ_INT(decode_thread_new(&t), 0))
		return;
	store(&s, 0, 1);
	for (unsigned i = 1; i < 60; i++) {
		struct decode_frame frame = {.length = ROW};
		struct codec_row row;

		CHECK(is_found(&s, i - 1, &frame.place));
		row_make(s.plain, i - 1);
		row = codec_encode(&s.codec, s.plain, ROW);
		decode_batch_clear(&reads);
		for (unsigned k = 0; k < 2; k++) {
			frame.out = out + k * ROW;
			CHECK_EQ_INT(decode_batch_add(&reads, &frame, row.data, row.length), 0);
		}
		decode_begin(t, &reads);
		store(&s, i, i + 3);
		store(&s, i, i + 1);
		CHECK(decode_wait(t, &reads) == NULL);
		row_make(s.plain, i - 1);
		CHECK(memcmp(out, s.plain, ROW) == 0 && memcmp(out + ROW, s.plain, ROW) == 0);
	}
	decode_batch_deinit(&reads);
	free(out);
	stored_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_overwritten);
	CHECK_RUN(test_wrong);
	CHECK_RUN(test_left_out);
	CHECK_RUN(test_no_room);
	CHECK_RUN(test_hostile_names);
	CHECK_RUN(test_many_servers);
	CHECK_RUN(test_beside);
	return check_done();
}
