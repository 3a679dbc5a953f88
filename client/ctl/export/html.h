/* A trace on its way into a self-contained page: held aside, stream by stream, as the packets that the viewer reads. */
#ifndef CTL_HTML_H
#define CTL_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "consumer.h"
#include "ctf.h"
#include "writer.h"

/* What a page can be expected to hold. */
#define HTML_BYTES_MAX (512ull << 20)

struct html_part {
	struct consumer consumer; /* to be given to whatever reads the trace */
	const char *name;	  /* of the trace, any bytes; borrowed */
	struct ctf_stream *streams;
	char **names;	 /* of the streams, owned; NULL = there is one */
	uint64_t *tails; /* of the streams: from when on each is not proven, UINT64_MAX for never; owned */
	unsigned int n;
	uint64_t damages; /* that were passed over */
	json_t *notes;	  /* sentences on them, not on each of too many */
	bool told;	  /* it ended for a reason that was said */
};

/* Of the trace NAME.  False without memory; deinit it in any case. */
bool html_part_init(struct html_part *p, const char *name);
void html_part_deinit(struct html_part *p);
/* The whole trace was read.  0 or -errno; with TOLD it was said why, here and where the sink ended the reading. */
int html_part_finish(struct html_part *p);

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
