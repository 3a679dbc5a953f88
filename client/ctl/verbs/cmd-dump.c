/* `mprofctl dump`: the events of a trace as text, all or those asked for. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dumper.h"
#include "filter.h"
#include "input.h"
#include "options.h"
#include "scope.h"

static void dumper_deinitp(struct dumper *d)
{
	dumper_deinit(d);
}

/* Why the dumper wanted no more. */
static int refusal(const struct dumper *d)
{
	if (d->out.error == EPIPE)
		return CTL_OK;
	if (!d->out.error)
		return say_memory();
	say("cannot write standard output: %s", strerror(d->out.error));
	return CTL_FAILED;
}

int cmd_dump(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(input_deinit) struct input in = {0};
	SCOPED(filter_deinit) struct filter filter = {0};
	SCOPED(dumper_deinitp) struct dumper d = {0};
	struct selection s = {0};
	const char *from = NULL, *to = NULL, *events = NULL, *threads = NULL, *label = NULL;
	bool follow = false;
	const struct option_def defs[] = {
		SELECTION_OPTIONS(s),
		PERIOD_OPTIONS(from, to),
		{"--event", NULL, &events, NULL},
		{"--thread", NULL, &threads, NULL},
		{"--label", NULL, &label, NULL},
		{"--follow", NULL, NULL, &follow},
	};
	struct operands left;
	int r = options_parse(argc, argv, defs, sizeof(defs) / sizeof(defs[0]), &left, 1, 1);

	r = r ? r : period_parse(&filter.period, from, to, argv[0]);
	r = r ? r : filter_parse(&filter, events, threads, label, argv[0]);
	if (r)
		return r;
	if (!dumper_init(&d, STDOUT_FILENO, ctl->json))
		return say_memory();
	if (from || to || events || threads || label)
		d.filter = &filter;
	r = input_run(&in, ctl, &d.sink, left.at[0], &s, follow, argv[0]);
	return r == INPUT_REFUSED ? refusal(&d) : r;
}
