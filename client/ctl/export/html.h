/*
 * A page of one file: the viewer, and the traces that it shows.
 *
 * Behind the viewer's head stand elements that are no scripts to a browser, with base64 in them and nothing else:
 *
 *     <script type="application/octet-stream" data-part="TRACE.STREAM">…</script>    a piece of a stream, packed with gzip
 *     <script type="application/json" id="contents">…</script>                       JSON: what there is of it, at the end
 *
 * Of a stream the contents say its name, in how many pieces it is, and as "tail", in decimal digits, from which time on it was not proven, if so.
 *
 * No name, label or sentence stands in the file as text, so none can become markup.
 */
#ifndef CTL_HTML_H
#define CTL_HTML_H

#include <jansson.h>
#include <stdbool.h>

#include "html-part.h"
#include "writer.h"

struct html {
	struct writer *out; /* borrowed */
	json_t *traces;	    /* that were written */
};

/* Was this built with the viewer?  If not, says so. */
bool html_possible(void);

/* What a trace is called of which a person said OPERAND: its file's name, or the guest or capture; points into it. */
const char *html_name(const char *operand);

/* Write the head to OUT.  0 or -ENOMEM; deinit in any case.  Errors of OUT show at html_end(). */
int html_begin(struct html *h, struct writer *out);
void html_deinit(struct html *h);
/* Write a trace that is finished.  0 or -errno. */
int html_add(struct html *h, const struct html_part *p);
/* Write a memory profile, the bytes of FD; RECORDING as in struct mprof_mem_options, 0 the last.  0 or -errno. */
int html_add_memory(struct html *h, const char *name, int fd, uint64_t recording);
/* All is there.  0 or -errno. */
int html_end(struct html *h);

#endif
