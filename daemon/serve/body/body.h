/*
 * CTF bodies: the plan, which walks a selection for what must stand in the headers before a byte is sent, and the body, which walks it
 * again for its bytes.
 */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include <sys/types.h>

#include "emit.h"

/* A place in a body: bytes of a packet, header included, that lie before it. */
struct body_place {
	uint64_t sequence;
	uint64_t bytes;
};

struct plan {
	struct selection selection;
	struct packet_walk walk;
	uint64_t total;	  /* identity bytes */
	uint64_t packets; /* that are served */
	uint64_t cut_bytes, cut_packets;
	struct position first_cut;
	struct position end; /* behind the last event; offset 0 where there is none */
	uint64_t hash;	     /* over what the identity bytes are ... */
	uint64_t hash_rows;  /* ... and over the rows that hold them */
	struct body_place last;
	bool done;
	/* of a range: where its bytes are */
	uint64_t located;
	struct body_place from, to;
};

void plan_init(struct plan *p, struct reader *reader, struct scratch *scratch, const struct selection *selection);
/* Walk on until all was seen (p->done) or UNTIL (CLOCK_MONOTONIC ns).  Returns what the reader returns. */
int plan_step(struct plan *p, uint64_t until);
/* Begin to find identity bytes FIRST to LAST; then step on until done as before. */
void plan_locate(struct plan *p);
int plan_locate_step(struct plan *p, uint64_t first, uint64_t last, uint64_t until);

struct body {
	struct selection selection;
	struct packet_walk walk;
	struct emitter emitter;
	bool in_packet;
	bool zstd;
	struct body_place from, last;
	uint64_t left; /* identity bytes; with zstd, of the packets that were not begun */
};

/* The body that PLAN is for: all of it, or the range that it located. */
int body_init(struct body *b, struct reader *reader, struct scratch *scratch, const struct plan *plan, bool zstd,
	      bool range, uint64_t bytes);
void body_deinit(struct body *b);

enum body_condition { BODY_E_END = 100, BODY_E_CHANGED };

/*
 * The next bytes, *N of at most MAX.  BODY_E_END behind the last; BODY_E_CHANGED where what was planned is no longer there; else what the
 * reader returns.
 */
int body_pull(struct body *b, char *out, size_t max, size_t *n);

#endif
