/* JSON straight into a writer: strings of a trace and its events. */
#ifndef CTL_WRITE_JSON_H
#define CTL_WRITE_JSON_H

#include <stddef.h>

#include <mprof/trace.h>

#include "writer.h"

/* What stands between the quotes of a string, LEN bytes at TEXT, of any length: what is no UTF-8 becomes the replacement character. */
void write_json_text(struct writer *w, const char *text, size_t len);

/*
 * An event as the object that `dump --json` prints, without a newline.  STREAM, if not NULL, is the name that stands in it.  A string that
 * is no UTF-8 stands there in hexadecimal besides.
 */
void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream);

#endif
