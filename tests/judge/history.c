/* Histories. The files of one replace those of the one before, in memory if the machine has such a directory. */
#include "history.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers.h"
#include "programs.h"
#include "truth.h"

/* Draw what is hidden: nothing in four of ten histories. */
static struct hiding hiding_draw(struct random *r, const struct world *w)
{
	struct hiding h = {.ring_bytes = RECORDING_BYTES};

	if (random_chance(r, 70))
		h.sampled_ns = 20000;
	h.durations = random_chance(r, 50);
	if (random_chance(r, 40))
		return h;
	if (random_chance(r, 40))
		h.ring_bytes = 1024u << random_below(r, 3);
	if (random_chance(r, 15))
		h.kinds = 1u + random_below(r, 7);
	if (random_chance(r, 15))
		h.lost_ring = random_from(r, 1, 4);
	if (random_chance(r, 20)) {
		h.ring_bytes = 1024u << random_below(r, 3);
		h.cut_ring = random_from(r, 1, 4);
		h.cut_packet = random_from(r, 1, 2); /* without the oldest one the ring looks as if it had wrapped */
	}
	if (random_chance(r, 10)) {
		h.step = random_chance(r, 50) ? -4294967296 : 3600000000000;
		h.step_at = w->facts[random_below(r, w->n_facts)].time;
	}
	return h;
}

/* Return the time at which the trace ends: in the middle, or when nothing goes on. */
static uint64_t end_draw(struct random *r, const struct world *w)
{
	if (random_chance(r, 50))
		return w->quiet + random_below(r, 500000);
	return w->facts[random_below(r, w->n_facts)].time;
}

/* Remove the files of the rings from the directory PATH. */
static void clear(const char *path)
{
	char name[300];

	snprintf(name, sizeof(name), "%s/objects", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s/counters", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s/ring", path);
	unlink(name);
	for (unsigned i = 1; i <= RECORDING_RINGS; i++) {
		snprintf(name, sizeof(name), "%s/thread-%02u", path, i);
		unlink(name);
	}
}

void history_clear(const struct history *h)
{
	clear(h->path);
}

/* Lwt has threads of one process, conditions and mutexes; no wait of these ends by itself. */
static bool can_be_lwt(const struct world *w)
{
	for (unsigned i = 0; i < w->n_objects; i++)
		if (w->objects[0][i].kind != OBJECT_CONDITION && w->objects[0][i].kind != OBJECT_MUTEX)
			return false;
	for (unsigned i = 0; i < w->n_programs; i++)
		for (unsigned k = 0; k < w->programs[i].n; k++)
			if (w->programs[i].op[k].kind == OP_TIMED)
				return false;
	return w->n_processes == 1;
}

void history_make(struct history *h, uint64_t seed)
{
	struct random r;

	h->seed = seed;
	memset(&h->world, 0, offsetof(struct world, waits));
	h->world.random.state = seed;
	programs_make(&h->world);
	world_run(&h->world);
	r = h->world.random;
	h->until = end_draw(&r, &h->world);
	h->hiding = hiding_draw(&r, &h->world);
	h->lwt = can_be_lwt(&h->world) && random_chance(&r, 40);
	if (h->lwt)
		h->hiding.kinds = 0;
}

static json_t *ask(const struct history *h, const char *verb, const char *option)
{
	int code;
	json_t *answer = answers_ask(verb, h->path, option, &code);

	if (!answer)
		fprintf(stderr, "%s printed no JSON, and ended with %d\n", verb, code);
	return answer;
}

/* Judge the answers about single threads, of which `why` without a name leaves out those that are resolved. */
static bool judge_named(const struct history *h, const struct trial *t)
{
	bool good = true;

	for (int i = 0; i < (int)h->world.n_threads && good; i++) {
		const struct thread *it = &h->world.threads[i];
		json_t *why;
		char id[24];

		if (it->process != h->recording.process || it->begin > h->until || !recording_has(&h->recording, i))
			continue;
		snprintf(id, sizeof(id), "%" PRId64, h->lwt ? LWT_THREAD(i) : recording_thread(it->process, i));
		why = ask(h, "why", id);
		good = why;
		if (why)
			truth_of_why(t, why);
		json_decref(why);
	}
	return good;
}

/* Record the history into the directory PATH, and hide nothing. Return false on an error. */
static bool store_whole(const struct history *h, const char *path)
{
	static struct recording whole;
	struct hiding nothing = {
		.ring_bytes = RECORDING_BYTES, .durations = h->hiding.durations, .sampled_ns = h->hiding.sampled_ns};
	bool good = h->lwt ? recording_lwt(&whole, &h->world, h->until, &nothing)
			   : recording_run(&whole, &h->world, h->recording.process, h->until, &nothing);

	good = good && recording_store(&whole, path);
	recording_deinit(&whole);
	return good;
}

/* Judge the comparison of the recording with one of the same history of which nothing is hidden, both ways. */
static bool judge_hidden(const struct history *h, const struct trial *t)
{
	char path[sizeof(h->path) + 8];
	bool good;

	/* Nobody can know which owners a recorder left out. */
	if (h->hiding.kinds & HIDDEN_OWNERS)
		return true;
	snprintf(path, sizeof(path), "%s.whole", h->path);
	good = (mkdir(path, 0700) == 0 || errno == EEXIST) && store_whole(h, path);
	for (int bad = 0; bad < 2 && good; bad++) {
		int code;
		json_t *diff = answers_ask("diff", bad ? path : h->path, bad ? h->path : path, &code);

		good = diff;
		if (diff)
			truth_of_hidden(t, diff, bad);
		json_decref(diff);
	}
	clear(path);
	rmdir(path);
	return good;
}

/* Judge the answers that take more time, of a tenth of the histories. */
static bool judge_more(const struct history *h, const struct trial *t)
{
	json_t *diff;
	int code;

	if (h->seed % 10)
		return true;
	diff = answers_ask("diff", h->path, h->path, &code);
	if (diff)
		truth_of_diff(t, diff);
	json_decref(diff);
	return diff && judge_hidden(h, t) && judge_named(h, t) && truth_of_area(t, h->path) &&
	       truth_of_exports(t, h->path);
}

static bool judge_process(struct history *h, struct figures *f)
{
	const struct trial t = {f, &h->world, &h->recording};
	json_t *why = ask(h, "why", "--all"), *causes = ask(h, "why", NULL), *threads = ask(h, "threads", NULL),
	       *stats = ask(h, "stats", NULL);
	bool good = why && causes && threads && stats;

	f->whole = recording_is_whole(&h->recording);
	if (good) {
		truth_of_why(&t, why);
		/* A cause needs the order of times. */
		if (!h->hiding.step)
			truth_of_causes(&t, why);
		truth_of_groups(&t, causes, why);
		truth_of_threads(&t, threads);
		truth_of_stats(&t, stats);
	}
	json_decref(why);
	json_decref(causes);
	json_decref(threads);
	json_decref(stats);
	return good && judge_more(h, &t);
}

static bool record(struct history *h, int process)
{
	return h->lwt ? recording_lwt(&h->recording, &h->world, h->until, &h->hiding)
		      : recording_run(&h->recording, &h->world, process, h->until, &h->hiding);
}

bool history_judge(struct history *h, struct figures *f)
{
	bool good = true;

	for (int p = 0; p < (int)h->world.n_processes && good && !h->world.endless && !(h->stops && f->wrong); p++) {
		history_clear(h);
		good = record(h, p) && recording_store(&h->recording, h->path);
		if (!good)
			fprintf(stderr, "the rings cannot be written to %s\n", h->path);
		else
			good = judge_process(h, f);
		recording_deinit(&h->recording);
	}
	return good;
}

/* ---- smaller histories ---- */

/* Return whether SENTENCE is still wrong. */
static bool is_wrong(struct history *h, enum sentence sentence)
{
	struct figures f = {0};

	return history_judge(h, &f) && f.of[sentence].wrong;
}

static void show_more(struct history *h, enum sentence sentence)
{
	for (unsigned i = 0; i < 5; i++) {
		struct hiding before = h->hiding;

		h->hiding.kinds = i == 0 ? 0 : before.kinds;
		h->hiding.lost_ring = i == 1 ? 0 : before.lost_ring;
		h->hiding.cut_ring = i == 2 ? 0 : before.cut_ring;
		h->hiding.step = i == 3 ? 0 : before.step;
		h->hiding.ring_bytes = i == 4 ? RECORDING_BYTES : before.ring_bytes;
		if (!is_wrong(h, sentence))
			h->hiding = before;
	}
}

bool history_minimize(struct history *h, enum sentence sentence)
{
	unsigned least = 0, most = 0;
	uint64_t until;

	if (!is_wrong(h, sentence))
		return false;
	show_more(h, sentence);
	while (most < h->world.n_facts && h->world.facts[most].time < h->until)
		most++;
	/* It may come and go with the end: this finds some end at which it is wrong. */
	while (least < most) {
		unsigned middle = least + (most - least) / 2;

		until = h->until;
		h->until = h->world.facts[middle].time;
		if (is_wrong(h, sentence)) {
			most = middle;
		} else {
			h->until = until;
			least = middle + 1;
		}
	}
	return is_wrong(h, sentence);
}

static void print_hiding(const struct hiding *h, FILE *out)
{
	fprintf(out, "rings of %u bytes", h->ring_bytes);
	if (h->kinds)
		fprintf(out, ", without%s%s%s", h->kinds & HIDDEN_SIGNALS ? " signals" : "",
			h->kinds & HIDDEN_LOCKS ? " locks" : "", h->kinds & HIDDEN_OWNERS ? " owners" : "");
	if (h->lost_ring)
		fprintf(out, ", without thread-%02u", h->lost_ring);
	if (h->cut_ring)
		fprintf(out, ", thread-%02u without packet %u", h->cut_ring, h->cut_packet);
	if (h->step)
		fprintf(out, ", a clock that steps by %" PRId64 " ns at %" PRIu64, h->step, h->step_at);
	fputc('\n', out);
}

void history_print(const struct history *h, FILE *out)
{
	static const char *const kinds[] = {
		"begins", "ends",  "exits", "waits", "goes on", "waited too long",	"signals",
		"posts",  "frees", "takes", "moves", "wakes",	"wants its mutex back", "computes"};
	const struct world *w = &h->world;

	print_hiding(&h->hiding, out);
	for (unsigned i = 0; i < w->n_facts && w->facts[i].time <= h->until; i++) {
		const struct fact *f = &w->facts[i];

		fprintf(out, "%" PRIu64 "  thread %" PRId64 " (program%d+%u) %s", f->time,
			recording_thread(f->process, f->thread), w->threads[f->thread].program, f->pc, kinds[f->kind]);
		if (f->object != WORLD_NONE)
			fprintf(out, ", object%d (%" PRId64 ")", f->object, recording_object(w, f->object));
		if (f->other != WORLD_NONE)
			fprintf(out, ", of thread %" PRId64, recording_thread(w->threads[f->other].process, f->other));
		if (f->n)
			fprintf(out, ", %" PRIu64, f->n);
		fputc('\n', out);
	}
}
