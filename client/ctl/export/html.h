/*
 * This file declares the parts of a single-file page, a viewer that opens without a server.
 *
 * struct html_part takes one trace and writes each stream to a temporary file, as CTF packets that
 * the viewer decodes. struct html writes the page.
 */
#ifndef CTL_HTML_H
#define CTL_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "clock-offset.h"
#include "consumer.h"
#include "ctf.h"
#include "output-writer.h"

/* Limit for the bytes of all traces in a page. */
#define HTML_BYTES_MAX (512ull << 20)

struct html_part {
	struct consumer consumer; /* passes events to this part; give it to the code that reads the trace */
	const char *name;	  /* name of the trace, any bytes; borrowed */
	struct ctf_stream *streams;
	char **names;	 /* stream names, owned; NULL for a single stream */
	uint64_t *tails; /* for each stream: time at which its unproven tail begins, UINT64_MAX = no tail; owned */
	unsigned int n;
	uint64_t damages; /* number of damaged places that were skipped */
	/* The offset of the trace's clock; NULL = unknown; borrowed until html_add() */
	const struct clock_offset *clock;
	json_t *notes; /* array of sentences, one for each damage, up to a limit; owned */
	bool reported; /* the error that a function returned was already reported */
};

/* Begin a trace called NAME. Return false without memory. The caller deinits P in any case. */
bool html_part_init(struct html_part *p, const char *name);
void html_part_deinit(struct html_part *p);
/*
 * Finish the streams after the last event. Return 0 or -errno. If REPORTED is set after an error,
 * of this function or of the consumer, the error was already reported.
 */
int html_part_finish(struct html_part *p);

/*
 * A single-file page: the viewer and the traces that it shows.
 *
 * The viewer is the head of the document. After the head come elements that a browser does not run.
 * Each contains nothing but base64:
 *
 *     <script type="application/octet-stream" data-part="TRACE.STREAM">…</script>   a piece of a
 *                                                       stream, packed with gzip
 *     <script type="application/json" id="contents">…</script>   the contents as JSON, at the end
 *
 * The contents give for each stream its name and its number of pieces. If the stream has an
 * unproven tail, "tail" is the time at which the tail begins, in decimal digits. If the offset of a
 * trace's clock is known, "wall" has "offset_ns", and "uncertainty_ns" if that is known, in decimal
 * digits.
 *
 * No name, label or sentence is in the file as plain text, so none can become markup.
 */
struct html {
	struct writer *out; /* output; borrowed */
	json_t *traces;	    /* array of the traces written so far, for the contents; owned */
};

/*
 * Return true if mprofctl was built with the viewer. Otherwise report that it was not, and return
 * false.
 */
bool html_possible(void);

/*
 * Return a name for the trace OPERAND: the file's name without its folder, or the name of the guest
 * or capture. The result points into OPERAND.
 */
const char *html_name(const char *operand);

/*
 * Write the head of the page to OUT. Return 0 or -ENOMEM; an error of writing is returned by
 * html_end(). The caller deinits H in any case.
 */
int html_begin(struct html *h, struct writer *out);
void html_deinit(struct html *h);
/* Write the trace P, which html_part_finish() has finished, into the page. Return 0 or -errno. */
int html_add(struct html *h, const struct html_part *p);
/*
 * Write the memory profile NAME into the page. FD has its bytes. RECORDING is the number of the
 * recording to show, as in struct mprof_mem_options; 0 = the last. Return 0 or -errno.
 */
int html_add_memory(struct html *h, const char *name, int fd, uint64_t recording);
/* Write the contents and the end of the page. Return 0 or -errno. */
int html_end(struct html *h);

#endif
