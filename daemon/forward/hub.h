/*
 * The calls of schema/fleet/README.md, over a connection to the hub's database.
 *
 * Each call blocks. It returns 0, a hub_condition or -ENOMEM. After a hub_condition, hub_sentence()
 * says why; an open transaction was rolled back, and after HUB_E_LOST the connection is closed.
 */
#ifndef FORWARD_HUB_H
#define FORWARD_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "piece.h"

enum hub_condition {
	HUB_E_LOST = 1, /* the hub cannot be reached, or fails: connect again later */
	HUB_E_STRANGER, /* MP001 to MP003: the hub does not take anything of this host now */
	HUB_E_LATER,	/* MP004, MP010: keep the object, and try again later */
	HUB_E_PAST,	/* MP005: the hub's retention is past the object's month */
	HUB_E_REFUSED,	/* MP006, MP008: the hub will never take the object */
	HUB_E_AGAIN,	/* MP007, MP009: read the object again, and begin it again */
	HUB_E_EARLIER,	/* the hub is of an earlier version, which does not know the call */
};

struct hub;

/* Create a hub for CONNECTION, libpq's connection string, which is copied. Nothing is connected yet. */
int hub_new(struct hub **hp, const char *connection);
struct hub *hub_free(struct hub *h);
CLEANUP_DEFINE(struct hub, hub_free)

const char *hub_sentence(const struct hub *h);
/* Return the SQLSTATE of the last hub_condition, or "" if it had none. */
const char *hub_state(const struct hub *h);
bool hub_connected(const struct hub *h);
/*
 * Return whether the connection is there, after a look at what the hub has sent: it may have ended the session.
 * Never waits.
 */
bool hub_alive(struct hub *h);
void hub_close(struct hub *h);

#define HUB_UUID_BYTES	37u
#define HUB_MONTH_BYTES 11u

struct hub_hello {
	char epoch[HUB_UUID_BYTES];
	char keeps_since[HUB_MONTH_BYTES]; /* a date such as 2026-01-01 */
};
/*
 * Connect unless connected, and say hello for the ARCHIVE: its UUID as 32 hexadecimal digits, copied
 * for all later calls. CLOCK is the host's as JSON; "" = not known.
 */
int hub_hello(struct hub *h, const char *archive, const char *clock, struct hub_hello *hello);

/*
 * Replace what the hub knows of this host's clocks by PERIODS, JSON. AGE: the host's age clock now. *NOW: the hub's
 * clock, ns since 1970. HUB_E_EARLIER: this hub keeps no clocks.
 */
int hub_put_clock(struct hub *h, int64_t age, const char *periods, int64_t *now);

int hub_begin(struct hub *h);
int hub_commit(struct hub *h);
void hub_rollback(struct hub *h);

/*
 * Begin, fill and finish a capture. MONTH is a date, HEAD JSON. *DONE: the hub has the capture
 * already. *OPEN: it has a part of it, as hub_capture_has() tells.
 */
int hub_begin_capture(struct hub *h, const char *month, int64_t capture, uint64_t pieces, uint64_t bytes,
		      const char *head, bool *done, bool *open);
int hub_put_capture_piece(struct hub *h, const char *month, int64_t capture, const struct piece *piece);
int hub_finish_capture(struct hub *h, const char *month, int64_t capture);
/*
 * List the pieces that the hub has of an open capture, for hub_capture_has(), which must be asked in
 * the order of pieces_of_capture().
 */
int hub_list_capture(struct hub *h, const char *month, int64_t capture);
bool hub_capture_has(struct hub *h, const struct piece *piece);

int hub_put_run(struct hub *h, const char *month, int64_t run, const char *head);
/* Store PIECE, one of PIECES of a complete packet. */
int hub_put_packet_piece(struct hub *h, const char *month, int64_t run, uint32_t pieces, const struct piece *piece);

/* Declare a loss of BYTES: a capture, or packets of a stream (CAPTURE 0). */
int hub_declare_lost(struct hub *h, const char *month, int64_t capture, int64_t stream, uint64_t first, uint64_t last,
		     uint64_t bytes, const char *reason);

/* The hub's sums of a month: of captures of this archive (hub_sum_add()), and of pieces of packets of all archives. */
struct hub_sum {
	char month[HUB_MONTH_BYTES];
	uint64_t captures, sum, packet_pieces;
};
/* Add CAPTURE to the sum over captures of SUM. */
void hub_sum_add(struct hub_sum *sum, int64_t capture);
/*
 * Call CALL with the sum of each month from SINCE on. HUB_E_EARLIER: this hub has no sums. If CALL returns another
 * value than 0, the call ends and returns it.
 */
typedef int hub_sum_call(void *context, const struct hub_sum *sum);
int hub_sums(struct hub *h, const char *since, hub_sum_call *call, void *context);
/* Return the number of pieces of packets that the hub did not have and has committed since the program began. */
uint64_t hub_packet_pieces(const struct hub *h);

/*
 * Call CALL with the identifier of each finished capture of this archive that the hub has in MONTH,
 * in ascending order. If CALL returns another value than 0, the call ends and returns it.
 */
typedef int hub_capture_call(void *context, int64_t capture);
int hub_inventory(struct hub *h, const char *month, hub_capture_call *call, void *context);
/*
 * The same with the packets of this archive that the hub has of all its months: ranges without holes,
 * in no order.
 */
typedef int hub_range_call(void *context, int64_t stream, uint64_t first, uint64_t last);
int hub_inventory_packets(struct hub *h, hub_range_call *call, void *context);

#endif
