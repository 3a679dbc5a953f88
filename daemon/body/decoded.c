/*
 * Keep decoded rows in a file.
 *
 * Positions count all bytes that were ever written: position P is at P % MOST of the file, and a row never goes over the
 * end of the file. So a row is overwritten when the position END is more than MOST behind its own. The table of rows is
 * a cache of sets: a row lies in the set that its checksum names, and a new row takes the place of the oldest of its
 * set.
 *
 * LOCK guards the table and the positions; nobody decodes, reads or writes while holding it.
 */
#include "decoded.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mprof/bytes.h>

#include "archive.h"
#include "decode-thread.h"
#include "thread.h"

#define NAME	     "decoded"
#define CREATE_TRIES 100u
#define WAYS	     4u
#define SETS	     (DECODED_ROWS_MOST / WAYS)
#define PART	     65536u /* read and summed at once, while it is in the processor's cache */

struct row {
	uint8_t key[CHECKSUM_BYTES];
	uint64_t at, sum;
	uint32_t length; /* 0 = the row is free */
};

struct decoded {
	int file, stored; /* STORED is an eventfd */
	uint64_t most, seed;
	pthread_t thread;
	bool started;
	struct codec_reader codec; /* of the thread */
	uint8_t *content;	   /* of one row; the thread's */
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool ending; /* guarded by LOCK, like the rest */
	const struct decode_batch *batch;
	struct row *rows;
	uint64_t end;	/* position behind the last row */
	uint64_t first; /* rows before this position are lost */
	_Atomic uint64_t reads, missed;
};

/* ---- the table ---- */

static bool is_there(const struct decoded *d, const struct row *r)
{
	return r->length && r->at >= d->first && d->end - r->at <= d->most;
}

static struct row *set_of(const struct decoded *d, const uint8_t key[CHECKSUM_BYTES])
{
	return d->rows + mprof_load64(key) % SETS * WAYS;
}

bool decoded_find(struct decoded *d, const uint8_t key[CHECKSUM_BYTES], uint32_t length, struct decoded_place *place)
{
	const struct row *r = set_of(d, key);

	*place = (struct decoded_place){0};
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < WAYS; i++, r++)
		if (is_there(d, r) && r->length == length && memcmp(r->key, key, CHECKSUM_BYTES) == 0)
			*place = (struct decoded_place){.store = d, .at = r->at, .sum = r->sum, .length = length};
	pthread_mutex_unlock(&d->lock);
	return place->store != NULL;
}

/* Note ROW in place of the oldest row of its set. */
static void note(struct decoded *d, const struct row *row)
{
	struct row *set = set_of(d, row->key), *oldest = set;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < WAYS; i++)
		if (is_there(d, oldest) && (!is_there(d, &set[i]) || set[i].at < oldest->at))
			oldest = &set[i];
	*oldest = *row;
	pthread_mutex_unlock(&d->lock);
}

/* ---- the file ---- */

/* Return the sum of the LENGTH bytes at P, which follow bytes with the sum BEFORE. */
static uint64_t sum_of(const uint8_t *p, size_t length, uint64_t before)
{
	return XXH3_64bits_withSeed(p, length, before);
}

bool decoded_read(const struct decoded_place *place, uint8_t *out)
{
	struct decoded *d = place->store;
	uint64_t sum = d->seed;
	size_t n;

	for (size_t at = 0; at < place->length; at += n) {
		n = place->length - at < PART ? place->length - at : PART;
		if (pread(d->file, out + at, n, (off_t)(place->at % d->most + at)) != (ssize_t)n)
			break;
		sum = sum_of(out + at, n, sum);
	}
	atomic_fetch_add(sum == place->sum ? &d->reads : &d->missed, 1);
	return sum == place->sum;
}

/* Take the position for LENGTH bytes, at most MOST. */
static uint64_t take_position(struct decoded *d, uint32_t length)
{
	uint64_t at;

	pthread_mutex_lock(&d->lock);
	at = d->end;
	if (at % d->most + length > d->most)
		at += d->most - at % d->most;
	d->end = at + length;
	pthread_mutex_unlock(&d->lock);
	return at;
}

/* Forget all rows, and give back their room. */
static void empty(struct decoded *d)
{
	pthread_mutex_lock(&d->lock);
	d->first = d->end;
	pthread_mutex_unlock(&d->lock);
	(void)!ftruncate(d->file, 0);
}

static bool has_room(const struct decoded *d)
{
	struct statvfs fs;

	return fstatvfs(d->file, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= d->most;
}

void decoded_check(struct decoded *d)
{
	struct decoded_counts c = decoded_counts(d);

	if (c.bytes && !has_room(d))
		empty(d);
}

/* Decode frame F of B, and write its content. Return false if the file cannot be written. */
static bool write_row(struct decoded *d, const struct decode_batch *b, const struct decode_frame *f)
{
	struct row row = {.sum = d->seed, .length = f->length};
	ssize_t n;

	if (!f->keyed || f->place.store || f->length == 0 || f->length > ARCHIVE_PIECE_MAX || f->length > d->most ||
	    !codec_decode(&d->codec, CODEC_ZSTD, b->bytes + f->at, f->bytes, d->content, f->length))
		return true;
	memcpy(row.key, f->key, CHECKSUM_BYTES);
	row.at = take_position(d, f->length);
	for (size_t at = 0; at < f->length; at += PART)
		row.sum = sum_of(d->content + at, f->length - at < PART ? f->length - at : PART, row.sum);
	n = pwrite(d->file, d->content, f->length, (off_t)(row.at % d->most));
	if (n == (ssize_t)f->length)
		note(d, &row);
	return n == (ssize_t)f->length;
}

static void write_batch(struct decoded *d, const struct decode_batch *b)
{
	bool works = has_room(d);

	for (unsigned i = 0; i < b->n && works; i++)
		works = write_row(d, b, &b->frames[i]);
	if (!works)
		empty(d);
}

/* ---- the thread ---- */

static void *run(void *context)
{
	const struct decode_batch *b;
	struct decoded *d = context;

	pthread_setname_np(pthread_self(), "decoded-rows");
	pthread_mutex_lock(&d->lock);
	while (!d->ending) {
		b = d->batch;
		if (!b) {
			pthread_cond_wait(&d->work, &d->lock);
			continue;
		}
		pthread_mutex_unlock(&d->lock);
		write_batch(d, b);
		pthread_mutex_lock(&d->lock);
		d->batch = NULL;
		(void)eventfd_write(d->stored, 1);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

bool decoded_ready(struct decoded *d)
{
	eventfd_t value;
	bool ready;

	pthread_mutex_lock(&d->lock);
	ready = !d->batch;
	if (ready)
		(void)eventfd_read(d->stored, &value);
	pthread_mutex_unlock(&d->lock);
	return ready;
}

int decoded_fd(const struct decoded *d)
{
	return d->stored;
}

void decoded_store(struct decoded *d, const struct decode_batch *b)
{
	pthread_mutex_lock(&d->lock);
	d->batch = b;
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
}

uint64_t decoded_room(struct decoded *d)
{
	return d->most - decoded_counts(d).bytes;
}

struct decoded_counts decoded_counts(struct decoded *d)
{
	struct decoded_counts c = {.reads = atomic_load(&d->reads), .missed = atomic_load(&d->missed)};

	pthread_mutex_lock(&d->lock);
	c.bytes = d->end - d->first < d->most ? d->end - d->first : d->most;
	pthread_mutex_unlock(&d->lock);
	return c;
}

/* ---- life ---- */

/*
 * Create a file without a name in DIRECTORY. Another server may create its own at the same time. Return the file or
 * -errno.
 */
static int create(int directory)
{
	int fd = -1, error = EEXIST;

	for (unsigned i = 0; i < CREATE_TRIES && fd < 0 && error == EEXIST; i++) {
		(void)unlinkat(directory, NAME, 0);
		fd = openat(directory, NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		error = errno;
	}
	if (fd < 0)
		return -error;
	(void)unlinkat(directory, NAME, 0);
	return fd;
}

int decoded_new(struct decoded **dp, int directory, uint64_t most)
{
	struct decoded *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	d->most = most;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->work, NULL);
	d->stored = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->file = create(directory);
	d->rows = calloc(DECODED_ROWS_MOST, sizeof(*d->rows));
	d->content = malloc(ARCHIVE_PIECE_MAX);
	rc = d->stored < 0 ? -EMFILE : d->file < 0 ? d->file : d->rows && d->content ? 0 : -ENOMEM;
	if (rc == 0)
		rc = codec_reader_init(&d->codec);
	if (rc == 0 && getrandom(&d->seed, sizeof(d->seed), 0) != sizeof(d->seed))
		rc = -EIO;
	if (rc == 0)
		rc = thread_start(&d->thread, run, d);
	d->started = rc == 0;
	if (rc == 0)
		*dp = d;
	else
		decoded_free(d);
	return rc;
}

struct decoded *decoded_free(struct decoded *d)
{
	if (!d)
		return NULL;
	if (d->started) {
		pthread_mutex_lock(&d->lock);
		d->ending = true;
		pthread_cond_signal(&d->work);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	pthread_cond_destroy(&d->work);
	pthread_mutex_destroy(&d->lock);
	codec_reader_deinit(&d->codec);
	if (d->file >= 0)
		close(d->file);
	if (d->stored >= 0)
		close(d->stored);
	free(d->rows);
	free(d->content);
	free(d);
	return NULL;
}
