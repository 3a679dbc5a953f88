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

struct recording *recording_free(struct recording *k)
{
	uint8_t **pieces;

	if (!k)
		return NULL;
	pieces = k->pieces.items;
	for (uint32_t i = 0; i < k->pieces.n; i++)
		free(pieces[i]);
	grow_deinit(&k->pieces);
	free(k);
	return NULL;
}

size_t recording_room_bytes(const struct recording *k)
{
	return RECORDING_PIECE_BYTES - (size_t)(k->bytes % RECORDING_PIECE_BYTES);
}

uint8_t *recording_room(struct recording *k)
{
	uint64_t piece = k->bytes / RECORDING_PIECE_BYTES;
	uint8_t *new;

	if (piece == k->pieces.n) {
		if (!grow_reserve(&k->pieces, sizeof(new), 1))
			return NULL;
		new = malloc(RECORDING_PIECE_BYTES);
		if (!new)
			return NULL;
		*(uint8_t **)grow_take(&k->pieces, sizeof(new)) = new;
	}
	return ((uint8_t **)k->pieces.items)[piece] + k->bytes % RECORDING_PIECE_BYTES;
}

void recording_came(struct recording *k, size_t n)
{
	k->bytes += n;
}

uint64_t recording_bytes(const struct recording *k)
{
	return k->bytes;
}

const uint8_t *recording_at(const struct recording *k, uint64_t at, size_t *n)
{
	size_t within = (size_t)(at % RECORDING_PIECE_BYTES), left = RECORDING_PIECE_BYTES - within;

	*n = k->bytes - at < left ? (size_t)(k->bytes - at) : left;
	return ((uint8_t **)k->pieces.items)[at / RECORDING_PIECE_BYTES] + within;
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
static bool rewind_to_start(struct scan *p)
{
	/*
	 * Decode stacks in every scan, also where they are not used. The scans must agree on the
	 * number of each object, and without stacks less damage would be found.
	 */
	const struct mprof_mem_options options = {
		.stacks = true,
		.seed = p->options.seed,
		.recording = p->options.recording,
	};

	mprof_mem_free(p->decoder);
	p->decoder = mprof_mem_new(&options);
	p->at = 0;
	p->n_damages = 0;
	return p->decoder != NULL;
}

struct scan *scan_new(const struct recording *k, const struct scan_options *options)
{
	struct scan *p = calloc(1, sizeof(*p));
	struct mprof_profile_options wanted = {.tree = !options->points, .sort = options->sort, .seed = options->seed};

	if (!p)
		return NULL;
	p->recording = k;
	p->options = *options;
	p->end = options->grows ? UINT64_MAX : recording_bytes(k);
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

struct scan *scan_free(struct scan *p)
{
	if (!p)
		return NULL;
	mprof_profile_free(p->profile);
	mprof_selection_free(p->selection);
	mprof_mem_free(p->decoder);
	curve_deinit(&p->curve);
	free(p->line);
	free(p);
	return NULL;
}

static void begin(struct scan *p, uint64_t start_us)
{
	p->start_us = start_us;
	curve_deinit(&p->curve);
	if (p->line)
		mprof_profile_timeline(p->profile, start_us + p->options.from, p->options.length, p->line,
				       p->options.points);
}

static enum mprof_status add(struct scan *p, const struct mprof_mem_event *e)
{
	enum mprof_status r;

	if (p->phase == SELECTING)
		return mprof_selection_add(p->selection, p->decoder, e);
	if (e->kind == MPROF_MEM_BEGIN)
		begin(p, e->time_us);
	r = mprof_profile_add(p->profile, e);
	/* Times of several domains go back; the curve is not used then. */
	if (r || p->options.sort || e->time_us < p->curve.time)
		return r;
	return curve_add(&p->curve, e->time_us, mprof_profile_sums(p->profile)->live) ? MPROF_OK : MPROF_NOMEM;
}

/*
 * Process all events that the decoder has, until it returns STOP. Return MPROF_OK or MPROF_NOMEM.
 */
static enum mprof_status drain(struct scan *p, enum mprof_status stop)
{
	struct mprof_mem_event event;
	enum mprof_status r;

	while ((r = mprof_mem_next(p->decoder, &event)) != stop) {
		if (r == MPROF_OK)
			r = add(p, &event);
		else if (r == MPROF_CORRUPT && p->n_damages < SCAN_DAMAGES_MAX)
			p->damages[p->n_damages++] = *mprof_mem_damage(p->decoder);
		if (r == MPROF_NOMEM)
			return r;
	}
	return MPROF_OK;
}

/*
 * Finish this scan of the bytes, and begin the second one if there is a filter and this was the
 * first. Return as scan_step().
 */
static enum mprof_status end_of_bytes(struct scan *p)
{
	enum mprof_status r;

	mprof_mem_finish(p->decoder);
	r = drain(p, MPROF_END);
	if (r)
		return r;
	if (p->phase == COUNTING) {
		p->phase = DONE;
		r = mprof_profile_finish(p->profile);
		return r ? r : MPROF_END;
	}
	p->phase = COUNTING;
	r = mprof_selection_finish(p->selection);
	return r ? r : rewind_to_start(p) ? MPROF_MORE : MPROF_NOMEM;
}

enum mprof_status scan_step(struct scan *p, uint64_t bytes)
{
	uint64_t end = p->end < recording_bytes(p->recording) ? p->end : recording_bytes(p->recording);
	enum mprof_status r = MPROF_OK;

	if (p->phase == DONE)
		return MPROF_END;
	while (!r && bytes && p->at < end) {
		size_t n;
		const uint8_t *piece = recording_at(p->recording, p->at, &n);

		n = n < end - p->at ? n : (size_t)(end - p->at);
		n = n < bytes ? n : (size_t)bytes;
		mprof_mem_feed(p->decoder, piece, n);
		r = drain(p, MPROF_MORE);
		p->at += n;
		bytes -= n;
	}
	if (r || p->at < end)
		return r ? r : MPROF_MORE;
	return p->options.grows ? MPROF_END : end_of_bytes(p);
}

void scan_end(struct scan *p)
{
	p->options.grows = false;
	p->end = recording_bytes(p->recording);
}

struct mprof_profile *scan_profile(const struct scan *p)
{
	return p->profile;
}

const struct mprof_mem *scan_decoder(const struct scan *p)
{
	return p->decoder;
}

uint64_t scan_bytes(const struct scan *p)
{
	return p->at;
}

uint64_t scan_start(const struct scan *p)
{
	return p->start_us;
}

void scan_line(const struct scan *p, uint64_t from, uint64_t length, double *out, uint32_t n)
{
	const struct mprof_mem_info *info = mprof_mem_info(p->decoder);
	double scale = info ? info->word_bytes / info->rate : 0;

	if (!p->line)
		curve_line(&p->curve, p->start_us + from, length, scale, out, n);
	for (uint32_t i = 0; p->line && i < n; i++)
		out[i] = i < p->options.points ? (double)p->line[i] * scale : 0;
}

const struct mprof_mem_damage *scan_damage(const struct scan *p, uint32_t i)
{
	return i < p->n_damages ? &p->damages[i] : NULL;
}
