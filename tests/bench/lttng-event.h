/* The event of lttng-load. LTTng's headers include this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER mprof_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-event.h"

#if !defined(LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENT_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(mprof_bench, try_read, LTTNG_UST_TP_ARGS(int64_t, reader, int64_t, source),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, reader, reader)
						       lttng_ust_field_integer(int64_t, source, source)))

#endif

#include <lttng/tracepoint-event.h>
