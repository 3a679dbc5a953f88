#include "answer-output.h"

#include <stdio.h>

#include "table.h"

_Static_assert(TIMING_TEXT_MAX <= MPROF_JSON_WALL_MAX, "a wall time needs more room");

/* Errors are those of stdout, which stdout_verdict() reports. */
static void put(void *context, const char *text, size_t n)
{
	(void)context;
	fwrite(text, 1, n, stdout);
}

static size_t put_wall(void *clock, uint64_t ns, char *text)
{
	return timing_json_text(clock, ns, text);
}

struct mprof_json answer_output(struct timing *timing)
{
	return (struct mprof_json){
		.put = put,
		.wall = timing && timing->kind == TIME_WALL ? put_wall : NULL,
		.clock = timing,
		.pretty = true,
	};
}

void answer_output_uncertainty(const struct timing *timing, struct mprof_json *j)
{
	uint64_t ns = timing_uncertainty(timing);

	if (timing->kind != TIME_WALL)
		return;
	if (ns == UINT64_MAX)
		mprof_json_null(j, "wall_uncertainty_ns");
	else
		mprof_json_time(j, "wall_uncertainty_ns", ns);
}

int answer_output_end(struct mprof_json *j)
{
	mprof_json_close(j, '}');
	putchar('\n');
	return stdout_verdict();
}
