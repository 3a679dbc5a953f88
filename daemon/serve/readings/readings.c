/*
 * Have captures read, one after the other (reading-job.h). All of this runs when the event loop has nothing else to do.
 * The answer is checked, gets the tails' ends, and is kept.
 */
#include "readings.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "copying.h"
#include "log.h"
#include "quantity.h"
#include "reading-cache.h"
#include "reading-job.h"

#define QUEUE_MOST 256u
#define NEWEST	   16u /* captures that are looked for, the newest ones */

/* A capture that could not be read is tried again after the first time, then after four times as long, and so on up to the last. */
#define AGAIN_FIRST_NS (2 * NS_PER_S)
#define AGAIN_MOST_NS  (900 * NS_PER_S)
#define AGAIN_CAPTURES 256u
#define ENDS_MOST      2u /* readers of a capture that a limit or the capture has ended: the next one would end so, too */

/* A capture as it is now. */
struct named {
	int64_t capture;
	uint8_t key[CACHE_KEY_BYTES];
};

struct known {
	struct named name;
	struct reading_result *result; /* without tails; owned; NULL = the place is free */
	uint64_t used;
	bool is_open; /* the reader gave no answer, and the capture is read again */
};

/* A capture that is read again, as its reader was ended, or its rows could not be read. */
struct again {
	struct named name; /* the capture is 0 if the place is free */
	uint64_t at;	   /* not before this, CLOCK_MONOTONIC ns */
	uint64_t delay;	   /* ns */
	unsigned ends;	   /* readers that gave no answer, were not late, and that nothing else has killed */
};

struct readings {
	sd_event *event;
	struct reader *reader;
	struct scratch *scratch;
	struct reading_cache cache;
	struct copying *copying; /* owned; NULL = none */
	bool runs;
	sd_event_source *work; /* the next step of the job */
	struct named now;      /* capture of the job, if JOB_RUNS */
	bool job_runs;
	struct reading_job job;
	/* N_QUEUE, the first is next: N_FIRST that were never read, then those that are read again. */
	struct named queue[QUEUE_MOST];
	unsigned n_queue, n_first;
	struct again again[AGAIN_CAPTURES];
	struct named seen[NEWEST]; /* the newest captures at the last tick */
	struct reader_version version;
	bool changing; /* one of them had changed since the tick before */
	struct known known[READINGS_MOST];
	uint64_t calls, read, failed, refused, ns;
	readings_notify *notify;
	void *context;
	struct log_limit limit;
	bool told_unable; /* the log says that a reader could not begin */
};

/* ---- what is known ---- */

/* Fill *NAME for CAPTURE. Return what the reader returns. */
static int name_capture(struct readings *r, int64_t capture, struct named *name)
{
	struct {
		char archive[READER_ARCHIVE_BYTES], program[64];
		uint32_t version;
		uint64_t capture, sum;
	} all;
	int rc;

	memset(&all, 0, sizeof(all));
	rc = reader_archive(r->reader, all.archive);
	if (rc == 0)
		rc = reader_range_sum(r->reader, capture, &all.sum);
	if (rc != 0)
		return rc;
	all.capture = (uint64_t)capture;
	all.version = MPROF_READING_VERSION;
	snprintf(all.program, sizeof(all.program), "%s", VERSION);
	*name = (struct named){.capture = capture};
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, &all, sizeof(all), name->key) < 0 ? -ENOMEM : 0;
}

static bool is_same(const struct named *a, const struct named *b)
{
	return a->capture == b->capture && memcmp(a->key, b->key, CACHE_KEY_BYTES) == 0;
}

static struct known *find_known(struct readings *r, const struct named *name)
{
	for (unsigned i = 0; i < READINGS_MOST; i++)
		if (r->known[i].result && is_same(&r->known[i].name, name)) {
			r->known[i].used = ++r->calls;
			return &r->known[i];
		}
	return NULL;
}

/* Put the ends of T, a tail of CAPTURE, to the ends that walks remember. */
static void remember_tail(struct readings *r, int64_t capture, const struct reading_tail *t)
{
	struct tail_name name = {.archives = reader_archives(r->reader),
				 .stream = t->stream,
				 .capture = capture,
				 .begin_sequence = t->begin_sequence,
				 .begin_offset = t->begin_offset};
	struct tail_record *record = tail_ends_begin(&r->scratch->tails, &name, t->newest, t->not_after);

	for (uint32_t i = 0; record && i < t->n_cuts; i++) {
		struct tail_end end = {.valid = t->cuts[i].end, .resume = t->cuts[i].resume};

		tail_ends_note(&r->scratch->tails, record, t->cuts[i].sequence, &end, t->newest);
	}
	if (record && t->next && !record->full)
		tail_ends_note(&r->scratch->tails, record, t->next - 1, NULL, t->newest);
}

/* Return the place for NAME: the one that it has, a free one, or that of the reading that was not used for longest. */
static struct known *place_for(struct readings *r, const struct named *name)
{
	struct known *k = find_known(r, name);

	if (k)
		return k;
	k = &r->known[0];
	for (unsigned i = 0; i < READINGS_MOST && k->result; i++)
		if (!r->known[i].result || r->known[i].used < k->used)
			k = &r->known[i];
	return k;
}

/* Keep RESULT, whose texts are copied, as that of NAME. Return it, or NULL without memory. */
static struct known *keep(struct readings *r, const struct named *name, struct reading_result *result)
{
	struct reading_result *copy = malloc(sizeof(*copy));
	struct known *k = place_for(r, name);

	for (uint32_t i = 0; i < result->n_tails; i++)
		remember_tail(r, name->capture, &result->tails[i]);
	if (!copy)
		return NULL;
	*copy = *result;
	copy->tails = NULL;
	copy->n_tails = 0;
	free(k->result);
	*k = (struct known){.name = *name, .result = copy, .used = ++r->calls};
	return k;
}

/* Find NAME in memory or in the cache. */
static struct known *find(struct readings *r, const struct named *name)
{
	struct known *k = find_known(r, name);
	CLEANUP(freep) uint8_t *bytes = NULL;
	struct reading_result result;
	size_t n;

	if (k)
		return k;
	bytes = reading_cache_get(&r->cache, name->key, &n);
	if (!bytes || !reading_result_take(bytes, n, &result))
		return NULL;
	k = keep(r, name, &result);
	reading_result_deinit(&result);
	return k;
}

static struct again *find_again(struct readings *r, const struct named *name)
{
	for (unsigned i = 0; i < AGAIN_CAPTURES; i++)
		if (r->again[i].name.capture && is_same(&r->again[i].name, name))
			return &r->again[i];
	return NULL;
}

/* Have NAME read again later, and each time later than before. Return the note of that, which replaces the oldest one. */
static struct again *read_again(struct readings *r, const struct named *name)
{
	struct again *a = find_again(r, name);

	if (!a) {
		a = &r->again[0];
		for (unsigned i = 0; i < AGAIN_CAPTURES && a->name.capture; i++)
			if (!r->again[i].name.capture || r->again[i].at < a->at)
				a = &r->again[i];
		*a = (struct again){.name = *name};
	}
	a->delay = a->delay ? 4 * a->delay : AGAIN_FIRST_NS;
	if (a->delay > AGAIN_MOST_NS)
		a->delay = AGAIN_MOST_NS;
	a->at = clock_mono() + a->delay;
	return a;
}

/* NAME is not read again. */
static void read_no_more(struct readings *r, const struct named *name)
{
	struct again *a = find_again(r, name);

	if (a)
		*a = (struct again){0};
}

/* Have NAME, which has been read, copied. */
static void copy(struct readings *r, const struct named *name)
{
	if (r->copying)
		copying_want(r->copying, name->capture);
}

/* ---- the end of a job ---- */

/* Return CUT for a reading. */
static struct reading_cut reading_cut_of(const struct tail_cut *cut)
{
	return (struct reading_cut){.sequence = cut->sequence, .end = cut->end.valid, .resume = cut->end.resume};
}

/* Append the ends of the feed's tails to the reading *P of *BYTES bytes. */
static int add_tails(struct readings *r, uint8_t **p, size_t *bytes)
{
	struct feed *f = &r->job.feed;
	int rc = 0;

	for (uint32_t i = 0; i < f->n && rc == 0; i++) {
		const struct tail_record *record =
			f->streams[i].tail.archives ? tail_ends_find(&r->scratch->tails, &f->streams[i].tail) : NULL;
		struct reading_tail t;

		if (!record)
			continue;
		t = (struct reading_tail){.stream = record->name.stream,
					  .begin_sequence = record->name.begin_sequence,
					  .begin_offset = record->name.begin_offset,
					  .n_cuts = (uint32_t)record->n_cuts,
					  .next = record->next,
					  .newest = record->not_before,
					  .not_after = record->not_after,
					  .cuts = calloc(record->n_cuts + 1, sizeof(struct reading_cut))};
		for (size_t k = 0; t.cuts && k < record->n_cuts; k++)
			t.cuts[k] = reading_cut_of(&record->cuts[k]);
		rc = t.cuts ? reading_add_tail(p, bytes, &t) : -ENOMEM;
		free(t.cuts);
	}
	return rc;
}

/* Write ANSWER of BYTES bytes, with the ends of the tails, to the cache. */
static void store(struct readings *r, const uint8_t *answer, size_t bytes)
{
	CLEANUP(freep) uint8_t *p = malloc(bytes);
	int rc;

	if (p)
		memcpy(p, answer, bytes);
	rc = p ? add_tails(r, &p, &bytes) : -ENOMEM;
	if (rc == 0)
		rc = reading_cache_put(&r->cache, r->now.key, p, bytes);
	if (rc != 0)
		log_write_limited(
			&r->limit, LOG_LEVEL_WARNING, NULL,
			"The cache cannot keep the reading of a capture, which is read again: %s: capture=%lld",
			strerror(-rc), (long long)r->now.capture);
}

/* Have on_work() called when the loop has nothing else to do. */
static void work_on(struct readings *r)
{
	(void)sd_event_source_set_enabled(r->work, r->runs ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/*
 * The reader gave no answer, but FAILURE. Have the capture read again; or, if readers end so again and again, keep that as its reading.
 * Return whether it is read again.
 */
static bool take_failure(struct readings *r, const char *failure, bool was_killed)
{
	struct again *a = read_again(r, &r->now);
	uint8_t answer[READING_FAILURE_BYTES];

	a->ends += !was_killed;
	if (a->ends < ENDS_MOST)
		return true;
	read_no_more(r, &r->now);
	store(r, answer, reading_of_failure(failure, answer));
	return false;
}

/* The process had the whole capture, and has ended as END says. */
static void take_reading(struct readings *r, const struct reading_job_end *end)
{
	const char *failure = end->result->failure;
	struct known *k = keep(r, &r->now, end->result);
	bool again = false;

	r->read += !*failure;
	r->told_unable &= *failure != '\0';
	if (*failure)
		log_write_limited(&r->limit, LOG_LEVEL_WARNING, NULL, "A capture cannot be read: %s: capture=%lld",
				  failure, (long long)r->now.capture);
	if (end->lasts) {
		read_no_more(r, &r->now);
		store(r, r->job.answer, r->job.n);
	} else {
		again = take_failure(r, failure, end->was_killed);
	}
	if (!k)
		return;
	k->is_open = again;
	copy(r, &r->now);
	r->notify(r->context, r->now.capture);
}

/* End the job, and go on with the next one. */
static void end_job(struct readings *r)
{
	reading_job_close(&r->job);
	r->job_runs = false;
	work_on(r);
}

/*
 * The process could not begin, or not lock itself. The machine may have lacked memory for a moment, so each capture is read again. Log this
 * once, until a reader has read a capture.
 */
static void tell_unable(struct readings *r)
{
	if (!r->told_unable)
		log_write_limited(
			&r->limit, LOG_LEVEL_WARNING, NULL,
			"A capture cannot be read now, and is tried again: its reader could not begin, or could not "
			"lock "
			"itself; if no capture is read, set reader = no in [http], or correct the limits of the unit: "
			"capture=%lld",
			(long long)r->now.capture);
	r->told_unable = true;
}

/* The process has ended as END says. */
static void take_end(void *context, const struct reading_job_end *end)
{
	struct readings *r = context;

	r->ns += end->ns;
	if (end->rc < 0) {
		tell_unable(r);
		read_again(r, &r->now);
	} else {
		r->failed += *end->result->failure != '\0';
		if (end->whole)
			take_reading(r, end);
		else
			read_again(r, &r->now);
	}
	end_job(r);
}

/* Begin the job of the first capture in the queue whose rows are there. */
static void start_next(struct readings *r)
{
	while (r->n_queue && !r->job_runs) {
		r->now = r->queue[0];
		r->n_queue--;
		r->n_first -= r->n_first > 0;
		memmove(r->queue, r->queue + 1, r->n_queue * sizeof(r->queue[0]));
		r->job_runs =
			reading_job_open(&r->job, r->event, r->reader, r->scratch, r->now.capture, take_end, r) == 0;
		if (!r->job_runs)
			read_again(r, &r->now);
	}
}

/* The rows are damaged or were deleted, or there is no process: a later request tries again. */
static void give_up(struct readings *r)
{
	read_again(r, &r->now);
	end_job(r);
}

/* The event loop has nothing else to do. No handler has limited what the archive's reader shows. */
static int on_work(sd_event_source *source, void *context)
{
	struct readings *r = context;
	int rc;

	(void)source;
	if (!r->job_runs)
		start_next(r);
	rc = r->job_runs ? reading_job_step(&r->job) : 0;
	if (rc == READING_JOB_E_AGAIN)
		work_on(r);
	else if (rc != 0)
		give_up(r);
	return 0;
}

/* Have NAME read in its turn, unless that is so already. It was read before if it IS_AGAIN. */
static void want(struct readings *r, const struct named *name, bool is_again)
{
	bool waits = r->job_runs && is_same(&r->now, name);
	unsigned at;

	for (unsigned i = 0; i < r->n_queue; i++)
		waits |= is_same(&r->queue[i], name);
	if (waits || !r->runs)
		return;
	if (r->n_queue == QUEUE_MOST && (is_again || r->n_first == QUEUE_MOST)) {
		r->refused++;
		return;
	}
	/* A capture that is read again gives its place to one that was never read, and is wanted again later. */
	r->n_queue -= r->n_queue == QUEUE_MOST;
	at = is_again ? r->n_queue : r->n_first++;
	memmove(r->queue + at + 1, r->queue + at, (r->n_queue - at) * sizeof(r->queue[0]));
	r->queue[at] = *name;
	r->n_queue++;
	if (!r->job_runs)
		work_on(r);
}

/* Have NAME read if it has no reading, K, that lasts, and if it is time for it. */
static void want_due(struct readings *r, const struct named *name, const struct known *k)
{
	const struct again *a = find_again(r, name);

	if (a ? clock_mono() >= a->at : !k || k->is_open)
		want(r, name, a || k);
}

/* ---- the interface ---- */

const struct reading_result *readings_find(struct readings *r, int64_t capture, bool wanted)
{
	struct named name;
	struct known *k;

	if (name_capture(r, capture, &name) != 0)
		return NULL;
	k = find(r, &name);
	if (wanted)
		want_due(r, &name, k);
	return k ? k->result : NULL;
}

struct newest {
	int64_t captures[NEWEST];
	unsigned n;
};

static int take_capture(void *context, const struct reader_capture *c)
{
	struct newest *list = context;

	list->captures[list->n++] = c->capture.id;
	return 0;
}

/* Return whether NAME was among the newest captures at the last tick. */
static bool was_seen(const struct readings *r, const struct named *name)
{
	for (unsigned i = 0; i < NEWEST; i++)
		if (is_same(&r->seen[i], name))
			return true;
	return false;
}

void readings_tick(struct readings *r)
{
	struct newest list = {.n = 0};
	struct reader_version version;
	struct named now[NEWEST] = {0};

	if (r->scratch->decoded)
		decoded_check(r->scratch->decoded);
	if (!r->runs || reader_ready(r->reader) != 0 || reader_version(r->reader, &version) != 0)
		return;
	if (!r->changing && version.commits == r->version.commits && version.archives == r->version.archives)
		return;
	if (reader_captures(r->reader, 0, INT64_MAX, NEWEST, take_capture, &list) != 0)
		return;
	r->version = version;
	r->changing = false;
	for (unsigned i = 0; i < list.n; i++) {
		if (name_capture(r, list.captures[i], &now[i]) != 0)
			now[i] = (struct named){0};
		else if (!was_seen(r, &now[i]))
			r->changing = true;
		else if (find(r, &now[i]))
			copy(r, &now[i]);
		else
			want_due(r, &now[i], NULL);
	}
	memcpy(r->seen, now, sizeof(now));
}

struct readings_counts readings_counts(const struct readings *r)
{
	return (struct readings_counts){.read = r->read,
					.failed = r->failed,
					.refused = r->refused,
					.ns = r->ns,
					.cache_bytes = r->cache.bytes,
					.waiting = r->n_queue + r->job_runs};
}

/* Have captures copied to the cache's directory, to at most MOST bytes. Without that all works, and more slowly. */
static void copy_decoded(struct readings *r, uint64_t most)
{
	int rc = r->cache.directory < 0 || most == 0 || !r->runs
			 ? 0
			 : copying_new(&r->copying, r->event, r->reader, r->scratch, r->cache.directory, most);

	if (rc < 0)
		log_warning("The file of decoded rows cannot be created, so each download is decoded: %s",
			    strerror(-rc));
}

int readings_new(struct readings **rp, sd_event *event, struct reader *reader, struct scratch *scratch,
		 const char *cache, uint64_t decoded, readings_notify *notify, void *context)
{
	CLEANUP(readings_freep) struct readings *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->event = event;
	r->reader = reader;
	r->scratch = scratch;
	r->job.in = -1;
	r->notify = notify;
	r->context = context;
	r->runs = reader_process_works();
	rc = reading_cache_open(&r->cache, cache);
	if (rc < 0)
		log_warning("Readings of captures are kept in memory alone: %s: %s", strerror(-rc), cache);
	rc = sd_event_add_defer(event, &r->work, on_work, r);
	if (rc >= 0)
		rc = sd_event_source_set_enabled(r->work, SD_EVENT_OFF);
	if (rc >= 0)
		rc = sd_event_source_set_priority(r->work, SD_EVENT_PRIORITY_IDLE);
	if (rc < 0)
		return rc;
	copy_decoded(r, decoded);
	*rp = TAKE_PTR(r);
	return 0;
}

struct readings *readings_free(struct readings *r)
{
	if (!r)
		return NULL;
	r->runs = false;
	copying_free(r->copying);
	if (r->job_runs)
		end_job(r);
	sd_event_source_disable_unref(r->work);
	for (unsigned i = 0; i < READINGS_MOST; i++)
		free(r->known[i].result);
	reading_cache_close(&r->cache);
	free(r);
	return NULL;
}
