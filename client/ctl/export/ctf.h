/*
 * Write the events of one stream to a file of CTF packets, in the layout of
 * schema/ctf/metadata.tsdl.
 */
#ifndef CTL_CTF_H
#define CTL_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

struct ctf_stream {
	int fd;		 /* owned; -1 = closed */
	uint8_t *packet; /* the packet that is being filled, header first; owned */
	size_t used;
	uint64_t sequence; /* number of the packet, counting missing packets too */
	bool written;	   /* at least one packet is in the file */
	bool missing;	   /* packets are missing after the last one in the file */
	/*
	 * Keep all times unchanged; only mprof's decoder can read times that go back. The caller
	 * may set this field after ctf_stream_init().
	 */
	bool verbatim;
	uint64_t last_ns; /* time of the last event */
	uint64_t moved;	  /* events that got a later time because theirs was before the last event's */
};

/* Begin a stream in FD and take the ownership of FD, also on failure. Return 0 or -ENOMEM. */
int ctf_stream_init(struct ctf_stream *s, int fd);
void ctf_stream_deinit(struct ctf_stream *s);

/*
 * Write event E. Other programs cannot read a file in which a time is before that of the last
 * event, or past 2^63 - 1. Unless VERBATIM is set, an event with such a time is written with the
 * last event's time and counted in MOVED. Return 0 or -errno.
 */
int ctf_stream_event(struct ctf_stream *s, const struct mprof_raw_event *e);
/* Note that PACKETS packets are missing after the last event. Return 0 or -errno. */
int ctf_stream_gap(struct ctf_stream *s, uint64_t packets);
/* Finish the file and sync it to the disk. Return 0 or -errno. */
int ctf_stream_end(struct ctf_stream *s);

#endif
