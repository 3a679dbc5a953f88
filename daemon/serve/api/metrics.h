/* Metrics as OpenMetrics: what the answers of a host and of a hub share. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <stdio.h>

#include "http-server.h"

/* Write the metric NAME, whose TYPE is gauge or counter. HELP is a sentence. */
void metrics_put(FILE *out, const char *name, const char *type, const char *help, uint64_t value);
/* Write the metrics of requests and connections. */
void metrics_put_http(FILE *out, const struct http_counts *c, const struct services *s);
/* Answer with TEXT, which is OpenMetrics, in the format that the client wants. */
enum outcome metrics_respond(struct exchange *x, const char *text);

#endif
