/*
 * A trace for a single-file page: its streams in temporary files, as packets that the viewer reads.
 */
#ifndef CTL_HTML_H
#define CTL_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "consumer.h"
#include "ctf.h"
#include "writer.h"

/* Limit for the traces in a page. */
#define HTML_BYTES_MAX (512ull << 20)

struct html_part {
	struct consumer consumer; /* give it to the code that reads the trace */
	const char *name;	  /* name of the trace, any bytes; borrowed */
	struct ctf_stream *streams;
	char **names;	 /* stream names, owned; NULL for a single stream */
	uint64_t *tails; /* for each stream: where its unproven tail begins, or UINT64_MAX; owned */
	unsigned int n;
	uint64_t damages; /* damage that was skipped */
	json_t *notes;	  /* a sentence on each damage, up to a limit */
	bool reported;	  /* the error was reported */
};

/* Begin a trace called NAME. Return false without memory. The caller deinits P in any case. */
bool html_part_init(struct html_part *p, const char *name);
void html_part_deinit(struct html_part *p);
/*
 * Finish the streams behind the last event. Return 0 or -errno. If TOLD is set, here or when the
 * consumer stopped the reading, the error was reported.
 */
int html_part_finish(struct html_part *p);

/*
 * A single-file page: the viewer and the traces that it shows.
 *
 * Behind the viewer's head stand elements that a browser does not run. They hold nothing but
 * base64:
 *
 *     <script type="application/octet-stream" data-part="TRACE.STREAM">…</script>   a piece of a
 *                                                       stream, packed with gzip
 *     <script type="application/json" id="contents">…</script>   the contents as JSON, at the end
 *
 * The contents give for each stream its name, its number of pieces, and, as "tail" in decimal
 * digits, the time at which its unproven tail begins, if it has one.
 *
 * No name, label or sentence stands in the file as text, so none can become markup.
 */
struct html {
	struct writer *out; /* borrowed */
	json_t *traces;	    /* written so far */
};

/* Return true if mprofctl was built with the viewer. Otherwise report that it was not. */
bool html_possible(void);

/*
 * Return the name of the trace OPERAND: its file's name, or the guest or capture. The result points
 * into OPERAND.
 */
const char *html_name(const char *operand);

/*
 * Write the head to OUT. Return 0 or -ENOMEM. The caller deinits H in any case. html_end() returns
 * write errors.
 */
int html_begin(struct html *h, struct writer *out);
void html_deinit(struct html *h);
/* Write a finished trace. Return 0 or -errno. */
int html_add(struct html *h, const struct html_part *p);
/*
 * Write the memory profile in FD; RECORDING is as in struct mprof_mem_options, 0 = the last. Return
 * 0 or -errno.
 */
int html_add_memory(struct html *h, const char *name, int fd, uint64_t recording);
/* Write the contents and the end of the page. Return 0 or -errno. */
int html_end(struct html *h);

#endif
