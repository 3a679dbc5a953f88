/* Texts of a model that are not in the trace as such, and clocks: what needs no state. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/model.h>

/* What a sample changed, which need not fit in 64 bits: a sign and a magnitude. */
static void change_of(const struct mprof_model_view *view, const struct mprof_sample *s, char *sign, uint64_t *amount)
{
	int64_t before = s->previous == MPROF_NONE ? 0 : view->samples[s->previous].value;

	*sign = s->value < before ? '-' : '+';
	*amount = s->value < before ? (uint64_t)before - (uint64_t)s->value : (uint64_t)s->value - (uint64_t)before;
}

size_t mprof_label_text(const struct mprof_model_view *view, uint32_t i, char *buf, size_t size)
{
	const struct mprof_label *label = &view->labels[i];
	const struct mprof_string *text = &view->strings[label->text];
	size_t bytes = text->bytes, fits;
	char change[24] = "", sign;
	uint64_t amount;

	if (label->sample != MPROF_NONE) {
		change_of(view, &view->samples[label->sample], &sign, &amount);
		snprintf(change, sizeof(change), "%c%" PRIu64, sign, amount);
	}
	if (size) {
		fits = bytes < size ? bytes : size - 1;
		if (fits)
			memcpy(buf, view->text + text->offset, fits);
		snprintf(buf + fits, size - fits, "%s", change);
	}
	return bytes + strlen(change);
}

/* HOST - GUEST where it is a number of 64 bits. */
static bool difference(uint64_t guest_ns, uint64_t host_ns, int64_t *result)
{
	return !__builtin_sub_overflow(host_ns, guest_ns, result);
}

void mprof_clock_before(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns)
{
	int64_t most;

	if (!difference(guest_ns, host_ns, &most) || (clock->bounded_above && clock->most <= most))
		return;
	clock->most = most;
	clock->bounded_above = true;
}

void mprof_clock_after(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns)
{
	int64_t least;

	if (!difference(guest_ns, host_ns, &least) || (clock->bounded_below && clock->least >= least))
		return;
	clock->least = least;
	clock->bounded_below = true;
}

void mprof_clock_apply(const struct mprof_clock *clock, struct mprof_model_source *source)
{
	source->offset_ns = clock->bounded_above ? clock->most : 0;
	source->uncertainty_ns = UINT64_MAX;
	if (clock->bounded_above && clock->bounded_below)
		source->uncertainty_ns =
			clock->most < clock->least ? 0 : (uint64_t)clock->most - (uint64_t)clock->least;
}
