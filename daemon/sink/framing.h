/*
 * Where the packets of a memtrace stream begin and end: their headers, and of the first packet what it says of the stream.  Nothing else is
 * decoded.  Pure functions over bytes from a guest.
 */
#ifndef SINK_FRAMING_H
#define SINK_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMING_HEADER_BYTES 68u	  /* the longest header's */
#define FRAMING_PACKET_MAX   (256u << 10) /* no writer makes one above 32 KiB */
#define FRAMING_LABEL_MAX    1024u	  /* bytes kept of a label */

/* What is known of a stream from the packets before.  Zeroed is its begin. */
struct framing {
	uint32_t version; /* 0 = no packet came yet */
	uint64_t packets;
};

/*
 * Go over LEN bytes at DATA, which begin where a packet does, and count its packets in.  *WHOLE is how many bytes of whole packets stand at
 * their begin.  False: what stands behind them is no packet of this stream, which is so as early as its first bytes tell.
 */
bool framing_whole(struct framing *f, const uint8_t *data, size_t len, size_t *whole);

/* What the first packet says.  Labels are cut to FRAMING_LABEL_MAX bytes; none has a NUL. */
struct framing_info {
	uint32_t version;
	double rate; /* 0 to 1 */
	bool has_pid;
	int64_t pid;
	char program[FRAMING_LABEL_MAX + 1], host[FRAMING_LABEL_MAX + 1], context[FRAMING_LABEL_MAX + 1];
};

/* Read the first packet of LEN bytes at DATA, which are whole packets.  False: it is no trace info packet, or damaged. */
bool framing_info(const uint8_t *data, size_t len, struct framing_info *info);

#endif
