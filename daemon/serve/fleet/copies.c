/* Make, keep and remove copies of captures. */
#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "copy.h"
#include "log.h"
#include "memory-copy.h"
#include "opened.h"
#include "tree.h"

#define COPIES_MOST   256u /* an open archive has some descriptors */
#define VERDICTS_MOST 256u /* captures that are known to be refused */
#define VERDICT_NS    (600 * NS_PER_S)

struct make {
	struct job job;
	struct copy_key key;
	char directory[512];
	uint64_t most;
	int condition; /* of capture_copy() */
	char why[256];
};

struct copy {
	struct copies *copies;
	struct copy *next; /* less recently used */
	struct copy_key key;
	char directory[512], number[24];
	unsigned references; /* of exchanges, and one of the list and the job each */
	bool listed;
	enum copy_state state;
	uint64_t bytes; /* on the disk; while it is made the most that it may have; 0 = it failed */
	uint64_t until; /* of a verdict: when the capture may be tried again, CLOCK_MONOTONIC ns */
	struct reader *reader;
	struct make *make; /* owned once it is done; before that the workers' */
};

struct copies {
	struct workers *workers;
	char directory[448];
	int lock; /* of DIRECTORY; -1 = none */
	uint64_t limit;
	void (*on_ready)(void *context, struct copy *copy);
	void *context;
	struct copy *newest;
	/*
	 * Captures that are refused whenever they are copied, with the reason, the newest verdict first. A client
	 * that asks again gets the reason without a copy and without a line in the log.
	 */
	struct copy *verdicts;
	unsigned n_verdicts;
	uint64_t serial;
	struct log_limit failed;
	struct copies_counts counts;
};

/* ---- files ---- */

static uint64_t tree_total;

static int add_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	if (flag == FTW_F)
		tree_total += (uint64_t)st->st_blocks * 512;
	return 0;
}

/* Return the bytes of the files below PATH. Call it in the loop's thread. */
static uint64_t tree_bytes(const char *path)
{
	tree_total = 0;
	nftw(path, add_one, 8, FTW_PHYS);
	return tree_total;
}

int copies_new(struct copies **cp, struct workers *workers, const char *directory, uint64_t limit,
	       void (*on_ready)(void *context, struct copy *copy), void *context, char *sentence, size_t size)
{
	CLEANUP(copies_freep) struct copies *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct copies){.workers = workers, .lock = -1, .limit = limit, .on_ready = on_ready, .context = context};
	r = tree_make(directory, "copies", c->directory, sizeof(c->directory), &c->lock);
	if (r < 0) {
		snprintf(sentence, size, "cannot make a directory for copies of captures below %s: %s", directory,
			 strerror(-r));
		c->directory[0] = '\0';
		return -EACCES;
	}
	*cp = TAKE_PTR(c);
	return 0;
}

/* ---- the list ---- */

static void free_copy(struct copy *copy)
{
	reader_free(copy->reader);
	tree_remove(copy->directory);
	if (copy->make)
		free(copy->make);
	free(copy);
}

void copy_unref(struct copy *copy)
{
	/*
	 * The body of an exchange that ends just now may still use the reader: a copy that is listed is freed
	 * later, by copies_get(), and one that is not was never read.
	 */
	if (--copy->references == 0 && !copy->listed)
		free_copy(copy);
}

/* Take COPY out of the list at AT. */
static void take_out(struct copy **at, const struct copy *copy)
{
	while (*at != copy)
		at = &(*at)->next;
	*at = copy->next;
}

static void unlist(struct copies *c, struct copy *copy)
{
	take_out(&c->newest, copy);
	copy->listed = false;
	c->counts.bytes -= copy->bytes;
	c->counts.copies--;
	copy_unref(copy);
}

/* Forget the verdict COPY. An exchange that uses it keeps it. */
static void forget(struct copies *c, struct copy *copy)
{
	take_out(&c->verdicts, copy);
	c->n_verdicts--;
	copy->listed = false;
	copy_unref(copy);
}

/* Keep COPY, which is listed and was refused, as a verdict. */
static void keep_verdict(struct copies *c, struct copy *copy)
{
	struct copy *oldest = c->verdicts;

	take_out(&c->newest, copy);
	c->counts.bytes -= copy->bytes;
	c->counts.copies--;
	copy->bytes = 0;
	copy->until = clock_mono() + VERDICT_NS;
	tree_remove(copy->directory);
	copy->next = c->verdicts;
	c->verdicts = copy;
	if (++c->n_verdicts <= VERDICTS_MOST)
		return;
	while (oldest->next)
		oldest = oldest->next;
	forget(c, oldest);
}

static void list(struct copies *c, struct copy *copy)
{
	copy->next = c->newest;
	c->newest = copy;
	copy->listed = true;
	copy->references++;
	c->counts.bytes += copy->bytes;
	c->counts.copies++;
}

/* Remove copies that nobody uses, until there is room for MORE bytes. Return false if there is none. */
static bool make_room(struct copies *c, uint64_t more)
{
	while (c->counts.bytes + more > c->limit || c->counts.copies >= COPIES_MOST) {
		struct copy *oldest = NULL;

		for (struct copy *copy = c->newest; copy; copy = copy->next)
			if (copy->references == 1 && copy->state == COPY_READY)
				oldest = copy;
		if (!oldest)
			return false;
		unlist(c, oldest);
	}
	return true;
}

static bool same_key(const struct copy_key *a, const struct copy_key *b)
{
	return a->capture == b->capture && a->recording == b->recording && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->month, b->month) == 0 && strcmp(a->archive, b->archive) == 0;
}

/* Return the verdict on KEY, or NULL if there is none or it is over. */
static struct copy *find_verdict(struct copies *c, const struct copy_key *key)
{
	for (struct copy *copy = c->verdicts; copy; copy = copy->next) {
		if (!same_key(&copy->key, key))
			continue;
		if (clock_mono() < copy->until)
			return copy;
		forget(c, copy);
		return NULL;
	}
	return NULL;
}

struct copies *copies_free(struct copies *c)
{
	if (!c)
		return NULL;
	while (c->verdicts) {
		c->verdicts->references = 1;
		forget(c, c->verdicts);
	}
	while (c->newest) {
		struct copy *copy = c->newest;

		if (copy->state == COPY_MAKING)
			copy->make = NULL; /* the workers have freed it */
		copy->references = 1;
		unlist(c, copy);
	}
	if (c->directory[0])
		tree_remove(c->directory);
	if (c->lock >= 0)
		close(c->lock);
	free(c);
	return NULL;
}

/* ---- making ---- */

/* In a worker. */
static int run_make(struct job *job, struct postgres *p)
{
	struct make *m = (struct make *)job;
	struct capture_key key = {m->key.host, m->key.month, m->key.archive, m->key.capture};

	tree_remove(m->directory); /* of an attempt on a connection that was lost */
	m->why[0] = '\0';
	if (mkdir(m->directory, 0700) < 0) {
		snprintf(m->why, sizeof(m->why), "%s", strerror(errno));
		m->condition = COPY_E_DISK;
		return 0;
	}
	m->condition = m->key.recording < 0
			       ? capture_copy(p, &key, m->directory, m->most, m->why, sizeof(m->why))
			       : memory_copy(p, &key, m->key.recording, m->directory, m->most, m->why, sizeof(m->why));
	if (m->condition == COPY_E_LOST)
		return postgres_connected(p) ? POSTGRES_E_REFUSED : POSTGRES_E_LOST;
	return m->condition < 0 ? m->condition : 0;
}

static void free_make(struct job *job)
{
	free(job);
}

/* Write the id of KEY as the API has it. */
static void key_text(const struct copy_key *key, char text[FLEET_ID_TEXT])
{
	struct capture_id id = {.capture = key->capture, .recording = key->recording};

	memcpy(id.host, key->host, sizeof(id.host));
	memcpy(id.archive, key->archive, sizeof(id.archive));
	capture_id_text(&id, text);
}

/* Log that COPY has failed, with the capture's name as the API has it. */
static void log_failure(struct copies *c, const struct copy *copy)
{
	const struct job *job = &copy->make->job;
	char id[FLEET_ID_TEXT];

	key_text(&copy->key, id);
	log_write_limited(&c->failed, LOG_LEVEL_WARNING, NULL, "%s %s cannot be copied from the fleet's database: %s",
			  copy->key.recording < 0 ? "The capture" : "The memory profile", id,
			  job->rc > 0 ? job->sentence : copy->make->why);
}

static void on_made(struct job *job)
{
	struct copy *copy = job->context;
	struct copies *c = copy->copies;
	bool ok = job->rc == 0 && copy->make->condition == 0;
	bool is_verdict = job->rc == 0 && copy->make->condition == COPY_E_REFUSED;
	uint64_t bytes;

	copy->state = ok ? COPY_READY : COPY_FAILED;
	if (ok) {
		bytes = tree_bytes(copy->directory);
		c->counts.bytes += bytes - copy->bytes;
		copy->bytes = bytes;
		c->counts.made++;
	} else {
		c->counts.failed++;
		log_failure(c, copy);
	}
	if (is_verdict)
		keep_verdict(c, copy);
	c->on_ready(c->context, copy);
	if (!ok && !is_verdict)
		unlist(c, copy);
}

static struct copy *begin(struct copies *c, const struct copy_key *key)
{
	struct copy *copy = calloc(1, sizeof(*copy));
	struct make *m = calloc(1, sizeof(*m));

	if (!copy || !m) {
		free(copy);
		free(m);
		return NULL;
	}
	*copy = (struct copy){.copies = c, .key = *key, .bytes = c->limit / COPIES_PART, .make = m};
	snprintf(copy->directory, sizeof(copy->directory), "%s/%" PRIu64, c->directory, ++c->serial);
	snprintf(copy->number, sizeof(copy->number), "%" PRId64, key->capture);
	m->job = (struct job){.run = run_make, .free = free_make, .done = on_made, .context = copy};
	m->key = *key;
	m->most = copy->bytes;
	memcpy(m->directory, copy->directory, sizeof(m->directory));
	if (!workers_run(c->workers, &m->job)) {
		free_copy(copy);
		return NULL;
	}
	list(c, copy);
	return copy;
}

struct copy *copies_get(struct copies *c, const struct copy_key *key)
{
	struct copy *copy = find_verdict(c, key);

	if (copy) {
		copy->references++;
		return copy;
	}
	copy = c->newest;
	while (copy && (!same_key(&copy->key, key) || copy->key.correction != key->correction))
		copy = copy->next;
	if (!copy) {
		if (!make_room(c, c->limit / COPIES_PART) || !(copy = begin(c, key)))
			return NULL;
	} else {
		take_out(&c->newest, copy);
		copy->next = c->newest;
		c->newest = copy;
	}
	copy->references++;
	return copy;
}

/* ---- using ---- */

enum copy_state copy_state(const struct copy *copy)
{
	return copy->state;
}

const struct job *copy_failure(const struct copy *copy, unsigned *status, const char **sentence)
{
	switch (copy->make->condition) {
	case COPY_E_ABSENT:
		*status = MHD_HTTP_NOT_FOUND;
		break;
	case COPY_E_DISK:
		*status = MHD_HTTP_SERVICE_UNAVAILABLE;
		break;
	default:
		*status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
	*sentence = copy->make->why;
	return &copy->make->job;
}

struct reader *copy_reader(struct copy *copy)
{
	if (!copy->reader && reader_new(&copy->reader, copy->directory) < 0)
		copy->reader = NULL;
	return copy->reader;
}

int copy_open(const struct copy *copy)
{
	char path[560];
	int fd;

	snprintf(path, sizeof(path), "%s/" MEMORY_COPY_FILE, copy->directory);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

const char *copy_number(const struct copy *copy)
{
	return copy->number;
}

struct copies_counts copies_counts(const struct copies *c)
{
	return c->counts;
}
