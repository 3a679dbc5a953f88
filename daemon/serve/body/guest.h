/* A guest in JSON: the schema Domain of the API. */
#ifndef SERVE_GUEST_H
#define SERVE_GUEST_H

#include <jansson.h>

#include "reader.h"

/* G, with no streams yet; NULL: no memory. */
json_t *guest_json(const struct reader_guest *g);
/* Add the streams of its latest run, and when the newest of them was last seen.  Returns what the reader returns. */
int guest_fill(struct reader *r, json_t *guest);
/* Both, of the guest whose latest run RUN is.  Returns what the reader returns. */
int guest_of_run(struct reader *r, int64_t run, json_t **guest);
/* The latest run of the guest that RUN is of.  Returns what the reader returns. */
int guest_latest_run(struct reader *r, const struct archive_run *run, int64_t *latest);

#endif
