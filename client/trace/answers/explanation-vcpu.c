/* Tell what the vCPUs of a guest did in some time: whether the guest was run (schema/vcpu.md). */
#include <string.h>

#include <mprof/ids.h>

#include "explanation-parts.h"

enum did { RAN, WAITED, BLOCKED, PAUSED, NEITHER, DID };

/* Names of the durations of vCPUs, and what a sentence says of them. */
static const struct {
	const char *name, *said;
} words[DID] = {
	[RAN] = {"running", "ran for "},
	[WAITED] = {"waiting", "waited for a processor for "},
	[BLOCKED] = {"blocked", "were blocked for "},
	[PAUSED] = {"paused", "were paused for "},
	[NEITHER] = {"not running", "waited or were blocked for "},
};

static enum did did_of(const struct mprof_model_view *v, const struct mprof_duration *d)
{
	const struct mprof_string *name = &v->strings[d->name];
	unsigned i = 0;

	while (i < DID && (name->bytes != strlen(words[i].name) ||
			   memcmp(v->text + name->offset, words[i].name, name->bytes) != 0))
		i++;
	return (enum did)i;
}

/* Return how much of D lies between FROM and TO, ns. */
static uint64_t inside(const struct mprof_duration *d, uint64_t from, uint64_t to)
{
	uint64_t start = d->time > d->duration_ns ? d->time - d->duration_ns : 0, end = d->time < to ? d->time : to;

	start = start > from ? start : from;
	return end > start ? end - start : 0;
}

/*
 * Add up in SUMS, by what they did, the times of the vCPUs of the guest GUEST between FROM and TO. Return
 * whether there is any.
 */
static bool sum_up(const struct mprof_explanation *e, uint32_t guest, uint64_t from, uint64_t to, uint64_t *sums)
{
	const struct mprof_model_view *v = e->view;
	bool any = false;

	for (uint32_t i = 0; i < v->n_durations; i++) {
		const struct mprof_duration *d = &v->durations[i];
		uint64_t part;
		enum did did;

		if (!MPROF_IS_VCPU(v->threads[d->thread].id) || v->streams[d->stream].guest != guest)
			continue;
		part = inside(d, from, to);
		did = part ? did_of(v, d) : DID;
		if (did == DID)
			continue;
		sums[did] += part;
		any = true;
	}
	return any;
}

void explain_vcpus(struct mprof_explanation *e, uint32_t stream, uint64_t from, uint64_t to)
{
	uint64_t sums[DID] = {0};
	unsigned left = 0;
	bool first = true;

	if (!sum_up(e, e->view->streams[stream].guest, from, to, sums))
		return;
	explain_put(e, sums[RAN] ? "  in that time the guest's vCPUs "
				 : "  in that time the guest was not run: its vCPUs ");
	for (unsigned i = 0; i < DID; i++)
		left += sums[i] != 0;
	for (unsigned i = 0; i < DID; i++) {
		if (!sums[i])
			continue;
		left--;
		explain_put(e, "%s%s", first ? "" : left ? ", " : " and ", words[i].said);
		explain_span(e, 0, sums[i]);
		first = false;
	}
	explain_line(e);
}
