#include <string.h>

#include "reading.h"

int reading_parse(struct reading *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		  size_t n_own, size_t max)
{
	const char *from = NULL, *to = NULL;
	const struct option_def shared[] = {
		SELECTION_OPTIONS(x->selection),
		PERIOD_OPTIONS(from, to),
	};
	const size_t n_shared = sizeof(shared) / sizeof(shared[0]);
	struct option_def defs[sizeof(shared) / sizeof(shared[0]) + READING_OWN_MAX];
	int r;

	*x = (struct reading){.ctl = ctl, .verb = argv[0]};
	memcpy(defs, shared, sizeof(shared));
	if (n_own)
		memcpy(defs + n_shared, own, n_own * sizeof(*own));
	r = options_parse(argc, argv, defs, n_shared + n_own, &x->left, 1, max);
	return r ? r : period_parse(&x->period, from, to, x->verb);
}

int reading_run(struct reading *x, const struct sink *sink)
{
	int r = input_run(&x->in, x->ctl, sink, x->left.at[0], &x->selection, false, x->verb);

	return r == INPUT_REFUSED ? say_memory() : r;
}

bool reading_came(int code)
{
	return code == CTL_OK || code == CTL_DAMAGED;
}

void reading_deinit(struct reading *x)
{
	input_deinit(&x->in);
}
