/*
 * `mprofctl mem subsample FACTOR`: make a smaller profile of the same run.
 *
 * Each sample is kept with the probability 1 / FACTOR. The output is like a profile that was taken
 * with a sampling rate FACTOR times lower, and it states the lower rate. So a reader of the output
 * estimates the same sizes, with a larger error. The random numbers have a fixed seed: the same
 * input always gives the same output.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "mem-encode.h"
#include "mem-input.h"
#include "mem-live.h"
#include "mem-load.h"
#include "mem.h"
#include "output-writer.h"
#include "output.h"
#include "seed.h"

/*
 * Most samples of one allocation for which keep() draws a random number each. The number kept of
 * more samples is drawn at once, from a normal distribution.
 */
#define DRAWN_MAX 4096u

struct subsampler {
	struct writer out;
	struct mem_encoder *encoder;
	/* Kept objects by their id in the input; details.number is the id in the output. */
	struct mem_live kept;
	double factor;
	uint64_t start_us;
	uint64_t from_us, to_us; /* first and last time to keep, since the start of the profile */
	uint64_t random;
};

static void subsampler_deinit(struct subsampler *s)
{
	writer_deinit(&s->out);
	mem_live_deinit(&s->kept);
	s->encoder = mem_encoder_free(s->encoder);
}

/* Return a random number from 0 up to, but not including, 1: xorshift64*. */
static double draw(struct subsampler *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (double)(s->random * 0x2545f4914f6cdd1d >> 11) * 0x1p-53;
}

/* Decide for N samples, by chance, how many to keep. Return that number. */
static uint64_t keep(struct subsampler *s, uint64_t n)
{
	double p = 1 / s->factor, count = (double)n, spread;
	uint64_t kept = 0;

	if (s->factor <= 1)
		return n;
	if (n <= DRAWN_MAX) {
		for (; n; n--)
			kept += draw(s) < p;
		return kept;
	}
	/*
	 * The number of kept samples has nearly a normal distribution. Draw it by the Box-Muller
	 * method.
	 */
	spread = sqrt(-2 * log(1 - draw(s))) * cos(2 * M_PI * draw(s));
	count = count * p + spread * sqrt(count * p * (1 - p));
	if (count < 0)
		return 0;
	return count > (double)n ? n : (uint64_t)(count + 0.5);
}

static int put(void *context, const void *bytes, size_t n)
{
	struct subsampler *s = context;

	writer_put(&s->out, bytes, n);
	return s->out.error ? -abs(s->out.error) : 0;
}

static int begin(struct subsampler *s, const struct mprof_mem *m, const struct mprof_mem_event *e)
{
	struct mprof_mem_info info = *mprof_mem_info(m);
	const struct mem_encoder_ops ops = {
		.put = put,
		.code = mem_encoder_code,
		.location = mem_encoder_location,
		.string = mem_encoder_string,
		.context = s,
		.names = (void *)m,
	};
	int r = s->encoder ? mem_encoder_flush(s->encoder) : 0;

	if (r)
		return r;
	info.rate /= s->factor;
	if (!isnormal(info.rate))
		return -ERANGE;
	mem_encoder_free(s->encoder);
	s->encoder = mem_encoder_new(&info, &ops);
	mem_live_deinit(&s->kept);
	s->start_us = e->time_us;
	return s->encoder ? 0 : -ENOMEM;
}

static int subsample_alloc(struct subsampler *s, const struct mprof_mem_event *e)
{
	uint64_t since = e->time_us - s->start_us;
	struct mprof_mem_event less = *e;
	struct mem_object *object;

	if (since < s->from_us || since >= s->to_us || mem_live_find(&s->kept, e->id))
		return 0;
	less.samples = keep(s, e->samples);
	if (!less.samples)
		return 0;
	object = mem_live_add(&s->kept, e->id);
	if (!object)
		return -ENOMEM;
	*object = (struct mem_object){.id = e->id, .samples = less.samples};
	mem_live_details(&s->kept, object)->number = (uint64_t)mem_encoder_next_id(s->encoder);
	return mem_encoder_add(s->encoder, &less);
}

static int subsample_event(void *context, const struct mprof_mem *m, const struct mprof_mem_event *e)
{
	struct subsampler *s = context;
	struct mprof_mem_event end = *e;
	struct mem_object *object;

	if (e->kind == MPROF_MEM_BEGIN)
		return begin(s, m, e);
	if (e->kind == MPROF_MEM_ALLOC)
		return subsample_alloc(s, e);
	object = mem_live_find(&s->kept, e->id);
	if (!object)
		return 0;
	end.id = (int64_t)mem_live_details(&s->kept, object)->number;
	if (e->kind == MPROF_MEM_COLLECT)
		mem_live_remove(&s->kept, object);
	return mem_encoder_add(s->encoder, &end);
}

static int factor_parse(const char *s, double *factor)
{
	char *end;

	*factor = strtod(s, &end);
	if (s[0] >= '0' && s[0] <= '9' && !*end && *factor >= 1 && *factor <= 1e9)
		return CTL_OK;
	return say_usage("mem", "mem subsample: the factor is not a number from 1 on: \"%s\"", s);
}

static int run(struct subsampler *s, struct mem_input *in, struct output *out)
{
	const struct mem_consumer consumer = {.event = subsample_event, .context = s};
	int r, error;

	if (!writer_init(&s->out, out->fd))
		return say_memory();
	r = mem_input_run(in, &consumer, true);
	error = in->refused;
	if (!error && s->encoder)
		error = mem_encoder_flush(s->encoder);
	error = error ? error : writer_flush(&s->out);
	if (error == -ENOMEM)
		return say_memory();
	if (error == -ERANGE) {
		say("%s: the factor is too large for its sampling rate", in->name);
		return CTL_FAILED;
	}
	if (error)
		return output_complain(out, -error);
	return r;
}

int mem_subsample(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_input_close) struct mem_input in = {.fd = -1, .hosts = ctl->hosts};
	CLEANUP(output_close) struct output out = {.fd = -1};
	CLEANUP(subsampler_deinit) struct subsampler t = {.random = 0x9e3779b97f4a7c15, .to_us = UINT64_MAX};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), committed;

	r = r ? r : factor_parse(left.at[0], &t.factor);
	r = r ? r : mem_filter_time("--from", o.from, &t.from_us);
	r = r ? r : mem_filter_time("--to", o.to, &t.to_us);
	r = r ? r : mem_input_open(&in, left.at[1], false);
	r = r ? r : mem_input_recording(o.recording, &in.recording);
	r = r ? r : output_open(&out, o.output ? o.output : "-", OUTPUT_REPLACE, "mem");
	if (r)
		return r;
	in.each = true;
	mem_live_init(&t.kept, seed_new(&in), true);
	r = run(&t, &in, &out);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	committed = output_commit(&out);
	return committed ? committed : r;
}
