/*
 * Find the boundaries of the packets in a memtrace stream, and read the description in the first
 * packet. Nothing else is decoded. Pure functions over bytes from a guest.
 */
#ifndef SINK_FRAMING_H
#define SINK_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMING_HEADER_BYTES 68u /* bytes of the longest packet header */
/* Largest packet that is accepted; writers make packets of at most 32 KiB. */
#define FRAMING_PACKET_MAX (256u << 10)
#define FRAMING_LABEL_MAX  1024u /* bytes of a label that are kept */

/* The state of a stream. A zeroed struct is the state before the first byte. */
struct framing {
	uint32_t version; /* version of the packets; 0 = no packet yet */
	uint64_t packets;
};

/*
 * Find and count the whole packets at the beginning of the LEN bytes at DATA, where a packet
 * begins. *WHOLE is their length. Return false as soon as the bytes behind them cannot be a packet
 * of this stream.
 */
bool framing_whole(struct framing *f, const uint8_t *data, size_t len, size_t *whole);

/*
 * The description in the first packet. Labels are cut to FRAMING_LABEL_MAX bytes, and end with NUL.
 */
struct framing_info {
	uint32_t version;
	double rate; /* samples per allocated word, above 0 and at most 1 */
	bool has_pid;
	int64_t pid;
	char program[FRAMING_LABEL_MAX + 1], host[FRAMING_LABEL_MAX + 1], context[FRAMING_LABEL_MAX + 1];
};

/*
 * Read the description from the first of the whole packets in LEN bytes at DATA. Return false if
 * that packet is damaged or has no description.
 */
bool framing_info(const uint8_t *data, size_t len, struct framing_info *info);

#endif
