/*
 * lttng-load: the peer of recorder-load: LTTng-UST records an event with the same fields.
 *
 *	lttng-load EVENTS
 */
#include <stdlib.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-event.h"

#include "recorder-load.h"

LOOP(loop_lttng, lttng_ust_tracepoint(mprof_bench, try_read, 1, i))

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "Usage: lttng-load EVENTS\n");
		return 2;
	}
	measure(loop_lttng, strtoll(argv[1], NULL, 10));
	return 0;
}
