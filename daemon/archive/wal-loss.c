/*
 * A frame of the write-ahead log is valid if it has the salts of the log's header, and its checksum continues that of the frame before it.
 * Recovery ends at the first frame that is not valid, and takes the frames until the last commit before it. Frames of the log's former life
 * have other salts, so a frame with the same salts behind that place was written by the same life: if it ends a transaction, the
 * transaction was committed, and its pages are not in the index. The layouts are those of https://www.sqlite.org/walformat.html and
 * https://www.sqlite.org/fileformat2.html#walformat.
 */
#include "wal-loss.h"

#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "database.h"

#define HEADER_BYTES	   32u
#define HEADER_CHECKSUM	   24u	       /* offset of the two words of the checksum in the log's header */
#define MAGIC		   0x377f0682u /* with the lowest bit, words are summed up as big-endian */
#define FRAME_HEADER_BYTES 24u
#define FRAME_SIZE	   4u /* pages of the database behind a commit; 0 in other frames */
#define FRAME_SALTS	   8u
#define FRAME_SUMMED	   8u /* bytes of the frame's header that are summed up, before the page */
#define FRAME_CHECKSUM	   16u
#define SALTS_BYTES	   8u
#define INDEX_FRAMES	   16u /* offset in the index: number of the frames that it has */
#define INDEX_CHECKSUM	   24u /* that of the last of them */
#define INDEX_SALTS	   32u

struct checksum {
	uint32_t a, b;
};

/* A log: its header, its frames, and what the index has of it. */
struct log {
	int fd;
	uint8_t header[HEADER_BYTES], index[DATABASE_INDEX_BYTES];
	uint32_t taken;	      /* frames that the index has */
	uint64_t n;	      /* frames of the file */
	uint64_t frame_bytes; /* of each, with its header */
	uint8_t *frame;	      /* the frame that was read */
};

static uint32_t big32(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, 4);
	return be32toh(word);
}

static struct checksum checksum_at(const uint8_t *bytes)
{
	return (struct checksum){big32(bytes), big32(bytes + 4)};
}

/* Sum up N bytes, a multiple of 8, as LOG does. */
static void sum_up(const struct log *log, const uint8_t *bytes, size_t n, struct checksum *sum)
{
	bool is_big = big32(log->header) & 1;
	uint32_t words[2];

	for (size_t i = 0; i < n; i += 8) {
		memcpy(words, bytes + i, 8);
		sum->a += (is_big ? be32toh(words[0]) : le32toh(words[0])) + sum->b;
		sum->b += (is_big ? be32toh(words[1]) : le32toh(words[1])) + sum->a;
	}
}

static bool is_header_whole(const struct log *log)
{
	struct checksum sum = {0}, said = checksum_at(log->header + HEADER_CHECKSUM);

	sum_up(log, log->header, HEADER_CHECKSUM, &sum);
	return (big32(log->header) & ~1u) == MAGIC && sum.a == said.a && sum.b == said.b;
}

/* Read the first N bytes of frame I. */
static bool read_frame(struct log *log, uint64_t i, size_t n)
{
	return i < log->n && pread(log->fd, log->frame, n, (off_t)(HEADER_BYTES + i * log->frame_bytes)) == (ssize_t)n;
}

static bool has_salts(const struct log *log, const uint8_t *salts)
{
	return memcmp(log->frame + FRAME_SALTS, salts, SALTS_BYTES) == 0;
}

/* Return whether frame I is valid. *SUM is the checksum of the frame before it, and becomes that of this one. */
static bool is_valid(struct log *log, uint64_t i, struct checksum *sum)
{
	struct checksum said;

	if (!read_frame(log, i, log->frame_bytes) || !has_salts(log, log->index + INDEX_SALTS))
		return false;
	sum_up(log, log->frame, FRAME_SUMMED, sum);
	sum_up(log, log->frame + FRAME_HEADER_BYTES, log->frame_bytes - FRAME_HEADER_BYTES, sum);
	said = checksum_at(log->frame + FRAME_CHECKSUM);
	return sum->a == said.a && sum->b == said.b;
}

/* Return how many of the frames from FIRST on have SALTS and end a transaction. */
static uint64_t count_commits(struct log *log, uint64_t first, const uint8_t salts[SALTS_BYTES])
{
	uint64_t commits = 0;

	for (uint64_t i = first; read_frame(log, i, FRAME_HEADER_BYTES); i++)
		commits += has_salts(log, salts) && big32(log->frame + FRAME_SIZE) != 0;
	return commits;
}

/*
 * Return the number of commits behind the frame that ended recovery. A valid frame that ends a transaction would have been taken: then the
 * index is that of a process that still has the log open, and there was no recovery.
 */
static uint64_t count_lost(struct log *log)
{
	struct checksum sum = checksum_at(log->header + HEADER_CHECKSUM);
	uint8_t salts[SALTS_BYTES];
	uint64_t i = log->taken;

	if (!is_header_whole(log)) { /* recovery took nothing */
		if (log->taken > 0 || !read_frame(log, 0, FRAME_HEADER_BYTES))
			return 0;
		memcpy(salts, log->frame + FRAME_SALTS, SALTS_BYTES);
		return count_commits(log, 0, salts);
	}
	if (log->taken > 0) {
		memcpy(&sum.a, log->index + INDEX_CHECKSUM, 4); /* in the order of the machine */
		memcpy(&sum.b, log->index + INDEX_CHECKSUM + 4, 4);
	}
	for (; is_valid(log, i, &sum); i++)
		if (big32(log->frame + FRAME_SIZE) != 0)
			return 0;
	return count_commits(log, i + 1, log->index + INDEX_SALTS);
}

uint64_t wal_loss(sqlite3 *db, const char *path)
{
	CLEANUP(closep) int fd = -1;
	struct log log = {0};
	char *name = sqlite3_mprintf("%s-wal", path);
	int64_t version, page_bytes = 0;
	uint64_t lost = 0;
	struct stat st;

	if (name)
		fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	sqlite3_free(name);
	if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, log.header, HEADER_BYTES, 0) != HEADER_BYTES)
		return 0;
	/* The first one reads the file, and recovers its log. */
	if (database_number(db, "PRAGMA user_version", &version) != 0 ||
	    database_number(db, "PRAGMA page_size", &page_bytes) != 0 || page_bytes <= 0 ||
	    !database_index(db, log.index))
		return 0;
	log.fd = fd;
	log.frame_bytes = (uint64_t)page_bytes + FRAME_HEADER_BYTES;
	log.n = ((uint64_t)st.st_size - HEADER_BYTES) / log.frame_bytes;
	log.frame = malloc(log.frame_bytes);
	memcpy(&log.taken, log.index + INDEX_FRAMES, sizeof(log.taken));
	if (log.frame)
		lost = count_lost(&log);
	free(log.frame);
	return lost;
}
