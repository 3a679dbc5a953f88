/* Write one stream of events as a file of packets, in the layout of schema/ctf/metadata.tsdl. */
#ifndef CTL_CTF_H
#define CTL_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

struct ctf_stream {
	int fd;		 /* owned; -1 = closed */
	uint8_t *packet; /* the packet being filled, with room for its header */
	size_t used;
	uint64_t sequence; /* number of the packet; counts missing packets too */
	bool written;	   /* the file has a packet */
	bool missing;	   /* packets are missing behind the last one in the file */
	bool verbatim;	   /* keep all times as they are, for mprof's own decoder; set after init */
	uint64_t last_ns;  /* time of the last event */
	uint64_t moved;	   /* events whose time could not stand behind the last one */
};

/* Write to FD and take FD over, also on failure. Return 0 or -ENOMEM. */
int ctf_stream_init(struct ctf_stream *s, int fd);
void ctf_stream_deinit(struct ctf_stream *s);

/*
 * Write the next event. A time before the last one's, or past 2^63 - 1, would make the rest
 * unreadable to other programs; such an event gets the last event's time and is counted. Return 0
 * or -errno.
 */
int ctf_stream_event(struct ctf_stream *s, const struct mprof_raw_event *e);
/* Note that PACKETS packets are missing here. Return 0 or -errno. */
int ctf_stream_gap(struct ctf_stream *s, uint64_t packets);
/* Finish the file and sync it to the disk. Return 0 or -errno. */
int ctf_stream_end(struct ctf_stream *s);

#endif
