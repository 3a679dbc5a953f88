/* The bytes of a CTF body that was planned: a second walk over its selection emits them. */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include <sys/types.h>

#include "emit.h"
#include "plan.h"

struct body {
	struct selection selection;
	struct packet_walk walk;
	struct emitter emitter;
	bool in_packet;
	bool zstd;
	struct body_place from, last;
	uint64_t left; /* uncompressed bytes not emitted; with zstd, bytes of packets not begun */
};

/*
 * Begin the body of PLAN, or (RANGE) its range, of BYTES uncompressed bytes. Borrow READER and
 * SCRATCH. Return 0 or -ENOMEM.
 */
int body_init(struct body *b, struct reader *reader, struct scratch *scratch, const struct plan *plan, bool zstd,
	      bool range, uint64_t bytes);
void body_deinit(struct body *b);

enum body_condition { BODY_E_END = 100, BODY_E_CHANGED };

/*
 * Emit the next bytes, *N of at most MAX. Return BODY_E_END behind the last byte, BODY_E_CHANGED if
 * the archive has changed so that the body is not the planned one, else what the reader returns.
 */
int body_pull(struct body *b, char *out, size_t max, size_t *n);

#endif
