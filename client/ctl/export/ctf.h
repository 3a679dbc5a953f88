/* One stream of events as a file of packets, in the layout of schema/ctf/metadata.tsdl. */
#ifndef CTL_CTF_H
#define CTL_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

struct ctf_stream {
	int fd;		 /* owned; -1 = closed */
	uint8_t *packet; /* being filled, its header's room first */
	size_t used;
	uint64_t sequence; /* its number; what is missing in front of it is counted */
	bool written;	   /* is there a packet in the file? */
	bool missing;	   /* is something missing behind the last one there? */
	bool verbatim;	   /* set behind init: for our own decoder and not to be kept, so times stay as they are */
	uint64_t last_ns;  /* time of the last event */
	uint64_t moved;	   /* events whose time was not possible behind that */
};

/* On FD, the stream's own from now on in any case.  0 or -ENOMEM. */
int ctf_stream_init(struct ctf_stream *s, int fd);
void ctf_stream_deinit(struct ctf_stream *s);

/*
 * The next event.  A time before the last one's, or past 2^63 - 1, makes all that follows unreadable to others: such an event bears the last
 * one's time, and is counted.  0 or -errno.
 */
int ctf_stream_event(struct ctf_stream *s, const struct mprof_raw_event *e);
/* PACKETS packets are missing here.  0 or -errno. */
int ctf_stream_gap(struct ctf_stream *s, uint64_t packets);
/* No more of it: the file is whole, and on the disk.  0 or -errno. */
int ctf_stream_end(struct ctf_stream *s);

#endif
