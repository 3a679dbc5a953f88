/* The format of Chrome's trace events, which client/trace/slices/chrome-json.c writes. */
#include <errno.h>

#include "chrome-json.h"
#include "exporter.h"
#include "output.h"
#include "seed.h"

static int chrome_open(struct export_job *job, struct consumer *consumer)
{
	job->state = chrome_json_new(job->out, job->trace, seed_new(job), spool_file, consumer);
	return job->state ? -job->out->error : -ENOMEM;
}

static int chrome_finish(struct export_job *job)
{
	int r = chrome_json_finish(job->state);

	if (!r)
		slices_report_refused(chrome_json_slices(job->state));
	return r;
}

static void chrome_close(struct export_job *job)
{
	chrome_json_free(job->state);
}

const struct exporter export_chrome = {
	.name = "chrome",
	.what = "Chrome's JSON, for the Perfetto UI and chrome://tracing",
	.suffix = ".chrome.json",
	.open = chrome_open,
	.finish = chrome_finish,
	.close = chrome_close,
};
