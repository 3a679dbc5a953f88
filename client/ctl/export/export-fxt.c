/* The Fuchsia trace format, for what reads it. What becomes of an event stands in acts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ctl.h"
#include "exporter.h"
#include "fxt.h"

struct fxt_export {
	struct acts acts;
	struct fxt fxt;
};

static int fxt_open(struct export_job *job, struct sink *sink)
{
	struct fxt_export *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	job->state = x;
	fxt_init(&x->fxt, job->out);
	acts_init(&x->acts, &x->fxt.ops, job->trace);
	*sink = acts_sink(&x->acts);
	return fxt_begin(&x->fxt, job->trace);
}

static int fxt_finish(struct export_job *job)
{
	struct fxt_export *x = job->state;
	int r = acts_finish(&x->acts);

	acts_tell_refused(&x->acts);
	return r;
}

static void fxt_close(struct export_job *job)
{
	struct fxt_export *x = job->state;

	if (!x)
		return;
	acts_deinit(&x->acts);
	fxt_deinit(&x->fxt);
	free(x);
	job->state = NULL;
}

const struct exporter export_fxt = {
	.name = "fxt",
	.what = "the Fuchsia trace format",
	.suffix = ".fxt",
	.open = fxt_open,
	.finish = fxt_finish,
	.close = fxt_close,
};
