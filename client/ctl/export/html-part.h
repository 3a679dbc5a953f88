/* A trace on its way into a self-contained page: held aside, stream by stream, as the packets that the viewer reads. */
#ifndef CTL_HTML_PART_H
#define CTL_HTML_PART_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctf-stream.h"
#include "sink.h"

/* What a page can be expected to hold. */
#define HTML_BYTES_MAX (512ull << 20)

struct html_part {
	struct sink sink; /* to be given to whatever reads the trace */
	const char *name; /* of the trace, any bytes; borrowed */
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

#endif
