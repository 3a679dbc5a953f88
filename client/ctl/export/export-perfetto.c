/* Perfetto's TrackEvent format, for ui.perfetto.dev and trace_processor.  What becomes of an event stands in acts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ctl.h"
#include "exporter.h"
#include "perfetto.h"

struct perfetto_export {
	struct acts acts;
	struct perfetto perfetto;
};

static int perfetto_open(struct export_job *job, struct sink *sink)
{
	struct perfetto_export *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	job->state = x;
	perfetto_init(&x->perfetto, job->out, 1);
	acts_init(&x->acts, &x->perfetto.ops, job->trace);
	*sink = acts_sink(&x->acts);
	return 0;
}

static int perfetto_finish(struct export_job *job)
{
	struct perfetto_export *x = job->state;
	int r = acts_finish(&x->acts);

	acts_tell_refused(&x->acts);
	return r;
}

static void perfetto_close(struct export_job *job)
{
	struct perfetto_export *x = job->state;

	if (!x)
		return;
	acts_deinit(&x->acts);
	perfetto_deinit(&x->perfetto);
	free(x);
	job->state = NULL;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.what = "Perfetto's track events, for ui.perfetto.dev and trace_processor",
	.suffix = ".pftrace",
	.open = perfetto_open,
	.finish = perfetto_finish,
	.close = perfetto_close,
};
