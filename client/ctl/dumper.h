/* From bytes of a trace to lines of events: the decoder, the writer and the complaints about damage, put together. */
#ifndef CTL_DUMPER_H
#define CTL_DUMPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer.h"

struct mprof_decoder;

struct dumper {
	struct mprof_decoder *decoder;
	struct writer out;
	const char *name; /* of the trace, for complaints; borrowed */
	bool json;
	uint64_t damages;
};

/* Lines go to OUT_FD; false without memory. */
bool dumper_init(struct dumper *d, const char *name, int out_fd, bool json);
void dumper_deinit(struct dumper *d);

/* The next LEN bytes of the stream.  Returns 0, -ENOMEM, or the -errno of writing. */
int dumper_feed(struct dumper *d, const void *bytes, size_t len);
/* All bytes of a trace at once: in logical order.  Returns as dumper_feed(). */
int dumper_whole(struct dumper *d, const void *bytes, size_t len);
/* The stream is over.  Returns as dumper_feed(). */
int dumper_finish(struct dumper *d);

#endif
