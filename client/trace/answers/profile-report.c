/*
 * Write the answers of `mem identify` and `mem timeline` as JSON. Their keys are an interface: schema/answers/profile.json,
 * schema/answers/timeline.json and docs/man/mprofctl.1 list them.
 */
#include <mprof/profile-report.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer-json.h"
#include "memory-json.h"

/* A note: BEFORE, a number with NOUN, BEHIND. */
struct sentence {
	const char *before, *noun, *behind;
};

static const struct sentence sentences[MPROF_PROFILE_NOTES] = {
	[MPROF_PROFILE_JOINED] = {"", "recording", " are joined here; this is the last of them."},
	[MPROF_PROFILE_CLOCK] = {"The clock stepped back ", "time",
				 "; later events have the latest time before the step."},
	[MPROF_PROFILE_TRUNCATED] = {"The place of the allocation is missing in ", "stack", ", which the writer cut."},
	[MPROF_PROFILE_STACKLESS] = {"The stack of ", "allocation", " is unknown, because earlier bytes were lost."},
	[MPROF_PROFILE_UNNAMED] = {"Names of functions or places are missing ", "time",
				   ": a limit was reached, or bytes before them were damaged."},
	[MPROF_PROFILE_LEFT_OUT] = {"There are too many different stacks: the innermost frames of ", "sample",
				    " are left out."},
	[MPROF_PROFILE_UNKNOWN] = {"Unknown objects were promoted or freed ", "time", "; these events are ignored."},
	[MPROF_PROFILE_REPEATED] = {"Objects that lived already were allocated ", "time",
				    "; these events are ignored."},
};

static uint64_t number_of(const struct mprof_profile_report *r, enum mprof_profile_note note)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(r->profile);

	switch (note) {
	case MPROF_PROFILE_JOINED:
		return r->recording || r->totals.recordings < 2 ? 0 : r->totals.recordings;
	case MPROF_PROFILE_CLOCK:
		return r->totals.clock_steps;
	case MPROF_PROFILE_TRUNCATED:
		return r->totals.truncated;
	case MPROF_PROFILE_STACKLESS:
		return r->totals.stackless;
	case MPROF_PROFILE_UNNAMED:
		return r->totals.unnamed;
	case MPROF_PROFILE_LEFT_OUT:
		return s->left_out;
	case MPROF_PROFILE_UNKNOWN:
		return s->unknown;
	case MPROF_PROFILE_REPEATED:
		return s->repeated;
	}
	return 0;
}

bool mprof_profile_note(const struct mprof_profile_report *r, enum mprof_profile_note note, char *buf)
{
	const struct sentence *it = &sentences[note];
	uint64_t n = number_of(r, note);

	snprintf(buf, MPROF_PROFILE_NOTE_MAX, "%s%" PRIu64 " %s%s%s", it->before, n, it->noun, n == 1 ? "" : "s",
		 it->behind);
	return n > 0;
}

static void put_text(struct mprof_json *j, const char *key, const char *text)
{
	mprof_json_text(j, key, text, strlen(text));
}

static void put_sources(struct mprof_json *j, const char *key, const uint64_t of[3])
{
	static const char *const names[] = {"minor", "major", "external"};

	mprof_json_open(j, key, '{');
	for (size_t i = 0; i < 3; i++)
		answer_put_count(j, names[i], of[i]);
	mprof_json_close(j, '}');
}

static void put_header(const struct mprof_mem_info *info, struct mprof_json *j)
{
	put_text(j, "program", info->program);
	put_text(j, "host", info->host);
	put_text(j, "parameters", info->parameters);
	put_text(j, "context", info->context);
	mprof_json_number(j, "pid", info->pid);
	mprof_json_number(j, "version", info->version);
	mprof_json_real(j, "rate", info->rate);
	mprof_json_number(j, "word_bytes", info->word_bytes);
}

/* Return the header of R, or an empty one before it was read. */
static const struct mprof_mem_info *header_of(const struct mprof_profile_report *r)
{
	static const struct mprof_mem_info none = {
		.pid = -1, .word_bytes = 8, .program = "", .host = "", .parameters = "", .context = ""};
	const struct mprof_mem_info *info = mprof_mem_info(r->mem);

	return info ? info : &none;
}

static void put_sums(const struct mprof_profile_sums *s, uint64_t start_us, struct mprof_json *j)
{
	put_sources(j, "allocs", s->allocs);
	put_sources(j, "samples", s->samples);
	answer_put_count(j, "promotes", s->promotes);
	answer_put_count(j, "collects", s->collects);
	answer_put_count(j, "live_objects", s->live_objects);
	answer_put_count(j, "live_samples", s->live);
	answer_put_count(j, "peak_samples", s->peak);
	answer_put_count(j, "peak_objects", s->peak_objects);
	answer_put_count(j, "peak_us", s->peak && s->peak_us > start_us ? s->peak_us - start_us : 0);
	answer_put_count(j, "max_words", s->max_length);
	answer_put_count(j, "words", s->length);
	answer_put_count(j, "unknown", s->unknown);
}

static void put_notes(const struct mprof_profile_report *r, struct mprof_json *j)
{
	char note[MPROF_PROFILE_NOTE_MAX];

	mprof_json_open(j, "notes", '[');
	for (uint32_t i = 0; i < MPROF_PROFILE_NOTES; i++)
		if (mprof_profile_note(r, i, note))
			mprof_json_word(j, NULL, note);
	mprof_json_close(j, ']');
}

void mprof_profile_write(const struct mprof_profile_report *r, struct mprof_json *j)
{
	const struct mprof_mem_info *info = header_of(r);
	const struct mprof_profile_sums *s = mprof_profile_sums(r->profile);
	double scale = mprof_mem_scale(r->mem), samples = (double)memory_all(s->samples);

	put_header(info, j);
	mprof_json_time(j, "start_us", info->start_us);
	mprof_json_time(j, "last_us", s->last_us);
	put_sums(s, info->start_us, j);
	answer_put_count(j, "damages", r->totals.damages);
	answer_put_count(j, "truncated_stacks", r->totals.truncated);
	answer_put_count(j, "recordings", r->totals.recordings);
	mprof_json_real(j, "sample_bytes", scale);
	mprof_json_real(j, "allocated_bytes", samples * scale);
	mprof_json_real(j, "live_bytes", (double)s->live * scale);
	mprof_json_real(j, "peak_bytes", (double)s->peak * scale);
	mprof_json_real(j, "error", samples > 0 ? 1 / sqrt(samples) : 0);
	put_notes(r, j);
}

uint64_t mprof_profile_timeline_ns(uint64_t length_us, uint32_t i, uint32_t n)
{
	return (uint64_t)((double)length_us * 1000 * (i + 1) / n + 0.5);
}

void mprof_profile_write_timeline(const struct mprof_profile_report *r, const uint64_t *live, uint32_t n,
				  uint64_t length_us, struct mprof_json *j)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(r->profile);
	double scale = mprof_mem_scale(r->mem);

	mprof_json_time(j, "start_us", header_of(r)->start_us);
	answer_put_count(j, "objects", memory_all(s->allocs));
	answer_put_count(j, "samples", memory_all(s->samples));
	answer_put_count(j, "peak_samples", s->peak);
	mprof_json_real(j, "peak_bytes", (double)s->peak * scale);
	mprof_json_open(j, "points", '[');
	for (uint32_t i = 0; i < n; i++) {
		mprof_json_open(j, NULL, '{');
		mprof_json_time(j, "ns", mprof_profile_timeline_ns(length_us, i, n));
		answer_put_count(j, "samples", live[i]);
		mprof_json_real(j, "bytes", (double)live[i] * scale);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}
