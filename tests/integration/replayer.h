/*
 * The replayer repeats the stores of a real mirage-profile writer in the caller's memory. It works
 * from images that were taken of the writer's ring.
 *
 * A reference directory has successive images of one ring (snap-NN.ctf). The truth has every packet
 * that the writer finished, as one CTF stream, in which each image has its place. The replayer
 * makes the writer's stores between two images: it stores the size of an event (low half, high
 * half) before the event's bytes, and for a reused packet it stores the count, the low half, and
 * the high half. At each image the ring is as the writer had it, also with an event that the image
 * shows torn. A slow copy gave some images that were never in memory as a whole. At such an image
 * the ring is as it was when the image's newest packet was copied.
 *
 * A failure ends the program, because only tests use the replayer.
 */
#ifndef INTEGRATION_REPLAYER_H
#define INTEGRATION_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAYER_IMAGES_MAX 100u

struct replayer_truth {
	const uint8_t **packets; /* each packet with its header; packet COUNT is at index COUNT - FIRST */
	uint32_t first, n;
};

struct replayer {
	uint8_t *ring;
	uint32_t packet_bytes;
	struct replayer_truth truth;
	uint8_t *images[REPLAYER_IMAGES_MAX];
	size_t size; /* bytes of an image, which is also the size of the ring */
	uint32_t n;  /* number of images */

	uint32_t count;	   /* count of the packet that is being written; the truth has at most 65,536 packets */
	uint32_t used;	   /* bytes written to this packet: the header and whole events */
	uint32_t torn;	   /* bytes of the next event that the size covers already and that are not written */
	uint64_t pause_ns; /* pause between two events */
	/* Rate in bytes per second, 0 for no limit; bytes since BEGAN (ns, CLOCK_MONOTONIC). */
	uint64_t rate, bytes, began;
	uint64_t events, torn_events, skipped, shown;
};

/* Read the images of DIRECTORY, and the uncompressed stream TRUTH. replayer_deinit frees them. */
void replayer_init(struct replayer *r, const char *directory, const char *truth);
void replayer_deinit(struct replayer *r);

/*
 * Write the ring's first state to RING, which has r->size bytes. The caller owns RING, and lets no
 * reader look at RING before this function returns.
 */
void replayer_begin(struct replayer *r, uint8_t *ring);

/*
 * Write until the ring equals image I. Between two images the real writer wrote far more events
 * than the images show, and this function writes all of them. With JUMP it writes only the events
 * that the next image shows; a reader then sees a ring whose writer lapped it.
 */
void replayer_image(struct replayer *r, uint32_t i, bool jump);

#endif
