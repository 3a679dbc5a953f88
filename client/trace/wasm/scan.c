#include "scan.h"

#include <stdlib.h>

#include "curve.h"
#include "grow.h"

struct recording {
	struct grow pieces; /* uint8_t *; all pieces but the last are full */
	uint64_t bytes;
};

struct recording *recording_new(void)
{
	return calloc(1, sizeof(struct recording));
}

struct recording *recording_free(struct recording *recording)
{
	uint8_t **pieces;

	if (!recording)
		return NULL;
	pieces = recording->pieces.items;
	for (uint32_t i = 0; i < recording->pieces.n; i++)
		free(pieces[i]);
	grow_deinit(&recording->pieces);
	free(recording);
	return NULL;
}

size_t recording_room_bytes(const struct recording *recording)
{
	return RECORDING_PIECE_BYTES - (size_t)(recording->bytes % RECORDING_PIECE_BYTES);
}

uint8_t *recording_room(struct recording *recording)
{
	uint64_t piece = recording->bytes / RECORDING_PIECE_BYTES;
	uint8_t *new;

	if (piece == recording->pieces.n) {
		if (!grow_reserve(&recording->pieces, sizeof(new), 1))
			return NULL;
		new = malloc(RECORDING_PIECE_BYTES);
		if (!new)
			return NULL;
		*(uint8_t **)grow_take(&recording->pieces, sizeof(new)) = new;
	}
	return ((uint8_t **)recording->pieces.items)[piece] + recording->bytes % RECORDING_PIECE_BYTES;
}

void recording_came(struct recording *recording, size_t n)
{
	recording->bytes += n;
}

uint64_t recording_bytes(const struct recording *recording)
{
	return recording->bytes;
}

const uint8_t *recording_at(const struct recording *recording, uint64_t at, size_t *n)
{
	size_t within = (size_t)(at % RECORDING_PIECE_BYTES), left = RECORDING_PIECE_BYTES - within;

	*n = recording->bytes - at < left ? (size_t)(recording->bytes - at) : left;
	return ((uint8_t **)recording->pieces.items)[at / RECORDING_PIECE_BYTES] + within;
}

/* ---- passes ---- */

enum phase {
	SELECTING,
	COUNTING,
	DONE,
};

struct scan {
	const struct recording *recording;
	struct scan_options options;
	enum phase phase;
	uint64_t at, end; /* position of the next byte, and end of the bytes to scan */
	struct mprof_mem *decoder;
	struct mprof_selection *selection; /* the selection, if there is a filter */
	struct mprof_profile *profile;
	struct curve curve;
	uint64_t *line; /* if options.points is not 0: live samples at that many times */
	uint64_t start_us;
	struct mprof_mem_damage damages[SCAN_DAMAGES_MAX];
	uint32_t n_damages;
};

/* Go back to the first byte, with a new decoder. Return false without memory. */
static bool rewind_to_start(struct scan *s)
{
	/*
	 * Decode stacks in every scan, also where they are not used. The scans must agree on the
	 * number of each object, and without stacks less damage would be found.
	 */
	const struct mprof_mem_options options = {
		.stacks = true,
		.seed = s->options.seed,
		.recording = s->options.recording,
	};

	mprof_mem_free(s->decoder);
	s->decoder = mprof_mem_new(&options);
	s->at = 0;
	s->n_damages = 0;
	return s->decoder != NULL;
}

struct scan *scan_new(const struct recording *recording, const struct scan_options *options)
{
	struct scan *p = calloc(1, sizeof(*p));
	struct mprof_profile_options wanted = {.tree = !options->points, .sort = options->sort, .seed = options->seed};

	if (!p)
		return NULL;
	p->recording = recording;
	p->options = *options;
	p->end = options->grows ? UINT64_MAX : recording_bytes(recording);
	p->phase = options->filter ? SELECTING : COUNTING;
	if (options->filter)
		wanted.selection = p->selection = mprof_selection_new(options->filter, options->last_us, options->seed);
	if (options->points)
		p->line = calloc(options->points, sizeof(*p->line));
	p->profile = mprof_profile_new(&wanted);
	if (!rewind_to_start(p) || !p->profile || (options->filter && !p->selection) || (options->points && !p->line))
		return scan_free(p);
	return p;
}

struct scan *scan_free(struct scan *s)
{
	if (!s)
		return NULL;
	mprof_profile_free(s->profile);
	mprof_selection_free(s->selection);
	mprof_mem_free(s->decoder);
	curve_deinit(&s->curve);
	free(s->line);
	free(s);
	return NULL;
}

static void begin(struct scan *s, uint64_t start_us)
{
	s->start_us = start_us;
	curve_deinit(&s->curve);
	if (s->line)
		mprof_profile_timeline(s->profile, start_us + s->options.from, s->options.length, s->line,
				       s->options.points);
}

static enum mprof_status add(struct scan *s, const struct mprof_mem_event *e)
{
	enum mprof_status r;

	if (s->phase == SELECTING)
		return mprof_selection_add(s->selection, s->decoder, e);
	if (e->kind == MPROF_MEM_BEGIN)
		begin(s, e->time_us);
	r = mprof_profile_add(s->profile, e);
	/* Times of several domains go back; the curve is not used then. */
	if (r || s->options.sort || e->time_us < s->curve.time)
		return r;
	return curve_add(&s->curve, e->time_us, mprof_profile_sums(s->profile)->live) ? MPROF_OK : MPROF_NOMEM;
}

/*
 * Process all events that the decoder has, until it returns STOP. Return MPROF_OK or MPROF_NOMEM.
 */
static enum mprof_status drain(struct scan *s, enum mprof_status stop)
{
	struct mprof_mem_event event;
	enum mprof_status r;

	while ((r = mprof_mem_next(s->decoder, &event)) != stop) {
		if (r == MPROF_OK)
			r = add(s, &event);
		else if (r == MPROF_CORRUPT && s->n_damages < SCAN_DAMAGES_MAX)
			s->damages[s->n_damages++] = *mprof_mem_damage(s->decoder);
		if (r == MPROF_NOMEM)
			return r;
	}
	return MPROF_OK;
}

/*
 * Finish this scan of the bytes, and begin the second one if there is a filter and this was the
 * first. Return as scan_step().
 */
static enum mprof_status end_of_bytes(struct scan *s)
{
	enum mprof_status r;

	mprof_mem_finish(s->decoder);
	r = drain(s, MPROF_END);
	if (r)
		return r;
	if (s->phase == COUNTING) {
		s->phase = DONE;
		r = mprof_profile_finish(s->profile);
		return r ? r : MPROF_END;
	}
	s->phase = COUNTING;
	r = mprof_selection_finish(s->selection);
	return r ? r : rewind_to_start(s) ? MPROF_MORE : MPROF_NOMEM;
}

enum mprof_status scan_step(struct scan *s, uint64_t bytes)
{
	uint64_t end = s->end < recording_bytes(s->recording) ? s->end : recording_bytes(s->recording);
	enum mprof_status r = MPROF_OK;

	if (s->phase == DONE)
		return MPROF_END;
	while (!r && bytes && s->at < end) {
		size_t n;
		const uint8_t *piece = recording_at(s->recording, s->at, &n);

		n = n < end - s->at ? n : (size_t)(end - s->at);
		n = n < bytes ? n : (size_t)bytes;
		mprof_mem_feed(s->decoder, piece, n);
		r = drain(s, MPROF_MORE);
		s->at += n;
		bytes -= n;
	}
	if (r || s->at < end)
		return r ? r : MPROF_MORE;
	return s->options.grows ? MPROF_END : end_of_bytes(s);
}

void scan_end(struct scan *s)
{
	s->options.grows = false;
	s->end = recording_bytes(s->recording);
}

struct mprof_profile *scan_profile(const struct scan *s)
{
	return s->profile;
}

const struct mprof_mem *scan_decoder(const struct scan *s)
{
	return s->decoder;
}

uint64_t scan_bytes(const struct scan *s)
{
	return s->at;
}

uint64_t scan_start(const struct scan *s)
{
	return s->start_us;
}

void scan_line(const struct scan *s, uint64_t from, uint64_t length, double *out, uint32_t n)
{
	double scale = mprof_mem_scale(s->decoder);

	if (!s->line)
		curve_line(&s->curve, s->start_us + from, length, scale, out, n);
	for (uint32_t i = 0; s->line && i < n; i++)
		out[i] = i < s->options.points ? (double)s->line[i] * scale : 0;
}

const struct mprof_mem_damage *scan_damage(const struct scan *s, uint32_t i)
{
	return i < s->n_damages ? &s->damages[i] : NULL;
}
