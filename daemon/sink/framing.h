/*
 * Find the boundaries of the packets in a memtrace stream, and read the description in the first
 * packet. Nothing else is decoded. Pure functions over bytes from a guest.
 */
#ifndef SINK_FRAMING_H
#define SINK_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMING_HEADER_BYTES 68u	  /* of the longest header */
#define FRAMING_PACKET_MAX   (256u << 10) /* writers make packets of at most 32 KiB */
#define FRAMING_LABEL_MAX    1024u	  /* bytes kept of a label */

/* The state of a stream. A zeroed one is at the beginning. */
struct framing {
	uint32_t version; /* of the packets; 0 = no packet yet */
	uint64_t packets;
};

/*
 * Count the packets in LEN bytes at DATA, which begin at a packet. *WHOLE is the length of the
 * whole packets at their beginning. Return false, as early as the bytes tell, if no packet of this
 * stream follows them.
 */
bool framing_whole(struct framing *f, const uint8_t *data, size_t len, size_t *whole);

/* The description in the first packet. Labels are cut to FRAMING_LABEL_MAX bytes and end in NUL. */
struct framing_info {
	uint32_t version;
	double rate; /* 0 to 1 */
	bool has_pid;
	int64_t pid;
	char program[FRAMING_LABEL_MAX + 1], host[FRAMING_LABEL_MAX + 1], context[FRAMING_LABEL_MAX + 1];
};

/*
 * Read the first of the whole packets in LEN bytes at DATA. Return false if it is damaged or no
 * trace info packet.
 */
bool framing_info(const uint8_t *data, size_t len, struct framing_info *info);

#endif
