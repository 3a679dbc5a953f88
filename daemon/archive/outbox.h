/*
 * The outbox: positions in the archive that are to be sent to a hub (schema/archive/0004-outbox.sql).
 *
 * The writer adds rows by itself when it writes captures and complete packets, if
 * archive_writer_send() was called; and it turns rows into losses when it deletes what they name.
 * Each call returns 0 or an error, as those of writer.h. The calls with a transaction of their own
 * use an open one if there is one.
 */
#ifndef ARCHIVE_OUTBOX_H
#define ARCHIVE_OUTBOX_H

#include "archive.h"

struct archive_writer;

/* The parts of a guest that are sent. */
enum archive_send { ARCHIVE_SEND_NOTHING, ARCHIVE_SEND_CAPTURES, ARCHIVE_SEND_ALL };

/* Return what is sent of the guest NAME. */
typedef enum archive_send archive_send_call(const void *context, const char *name);

/*
 * Fill the outbox from now on, as CALL decides with CONTEXT, which is borrowed for the life of the
 * writer. CALL NULL: add nothing, and empty the outbox.
 */
int archive_writer_send(struct archive_writer *w, archive_send_call *call, const void *context);

/* CAPTURE is complete and will not change: it may be sent. Do nothing if the outbox has it not. */
int archive_writer_finish_capture(struct archive_writer *w, int64_t capture);
/*
 * As archive_writer_finish_capture(), for each capture with an identifier of at most LAST. Times are no measure,
 * because CLOCK_REALTIME may be wrong.
 */
int archive_writer_finish_old(struct archive_writer *w, int64_t last);

/* An acknowledgement of a hub. */
struct archive_sent {
	int64_t id;	   /* row of the outbox */
	uint64_t sequence; /* rows of streams: all packets up to this one; other rows: ignored */
	uint64_t packets;  /* rows of losses: how many of its packets the hub was told of */
	uint64_t bytes;	   /* as PACKETS, in bytes */
};
/*
 * Delete what was acknowledged from the outbox. A row that has grown since it was read keeps the
 * rest. ARCHIVE_E_ABSENT: the outbox has no such row, for instance because it was acknowledged
 * before.
 */
int archive_writer_sent(struct archive_writer *w, const struct archive_sent *sent);

/*
 * Put a capture into the outbox again, if it is to be sent at all, because the hub does not have it
 * any more. ARCHIVE_E_ABSENT: there is no such capture.
 */
int archive_writer_send_again(struct archive_writer *w, int64_t capture);
/*
 * The same for the complete packets of STREAM from FIRST to LAST. The stream's row then names all
 * packets between them and those that it named before.
 */
int archive_writer_send_packets_again(struct archive_writer *w, int64_t stream, uint64_t first, uint64_t last);

/* Sums over the outbox, for metrics. */
struct archive_outbox {
	uint64_t rows;	      /* that are ready */
	uint64_t oldest_real; /* time of the oldest of them, CLOCK_REALTIME ns; 0 = there is none */
	/* Lost before they were sent, since the archive was made. */
	uint64_t lost_packets, lost_captures;
	uint64_t damaged; /* rows that were damaged or missing, since the archive was made */
	uint64_t untold;  /* losses that the hub will never be told of, since there were too many */
};
int archive_writer_outbox(struct archive_writer *w, struct archive_outbox *outbox);

/*
 * Check each row of the outbox, and their number. Delete damaged rows, and count them and missing ones in the sums.
 * The archive gets these rows again when mprofd-forward compares its captures with those of the hub.
 */
int archive_writer_check_outbox(struct archive_writer *w);

#endif
