/* Write a trace as Chrome's trace events: JSON that chrome://tracing and the Perfetto UI open. */
#ifndef TRACE_CHROME_JSON_H
#define TRACE_CHROME_JSON_H

#include <stdint.h>

#include "consumer.h"
#include "output-writer.h"
#include "slices.h"

struct chrome_json;

/*
 * Begin the document of the trace TRACE in OUT, and set *CONSUMER to the consumer of its events. OUT and TRACE, any bytes, are borrowed
 * until chrome_json_free(). SEED and SPOOL are those of slices_init(). Return NULL without memory.
 */
struct chrome_json *chrome_json_new(struct writer *out, const char *trace, uint64_t seed, int (*spool)(void),
				    struct consumer *consumer);
/* Free J, which may be NULL. Return NULL. */
struct chrome_json *chrome_json_free(struct chrome_json *j);
/* Write the rest of the document after the last event. Return 0 or -errno. */
int chrome_json_finish(struct chrome_json *j);
/* Return the slices of J, valid as long as J. */
const struct slices *chrome_json_slices(const struct chrome_json *j);

#endif
