/* One file that any browser opens, without a server and without a network: for an issue, a mail, or a machine that has no mprofd. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "exporter.h"
#include "html.h"

static int html_check(const struct export_job *job, const char *verb)
{
	(void)job;
	(void)verb;
	return html_possible() ? CTL_OK : CTL_FAILED;
}

static int html_open(struct export_job *job, struct sink *sink)
{
	struct html_part *p = calloc(1, sizeof(*p));

	job->state = p;
	if (!p || !html_part_init(p, html_name(job->trace)))
		return -ENOMEM;
	*sink = p->sink;
	return 0;
}

static int html_finish(struct export_job *job)
{
	struct html_part *p = job->state;
	struct html h;
	int r = html_part_finish(p);

	if (r)
		return r;
	r = html_begin(&h, job->out);
	r = r ? r : html_add(&h, p);
	r = r ? r : html_end(&h);
	html_deinit(&h);
	return r;
}

static bool html_told(const struct export_job *job)
{
	const struct html_part *p = job->state;

	return p && p->told;
}

static void html_close(struct export_job *job)
{
	if (job->state)
		html_part_deinit(job->state);
	free(job->state);
}

const struct exporter export_html = {
	.name = "html",
	.what = "the viewer and the trace in one file, which a browser opens without a server",
	.suffix = ".html",
	.all_streams = true,
	.check = html_check,
	.open = html_open,
	.finish = html_finish,
	.told = html_told,
	.close = html_close,
};
