/*
 * Lets a real mirage-profile writer write once more, from the snapshots that were taken of it, into memory that the caller gives.
 *
 * A reference directory has successive images of one ring (snap-NN.ctf), and the truth says where each image stands: every packet that
 * the writer finished, as one CTF stream.  Replayed are the writer's stores between two images: an event is counted (low half, high
 * half) before its bytes come, a packet that is used again gets count, low half, high half.  At each image the ring is as the writer
 * had it, the event that was torn in the image torn in the same way.  An image that was copied slowly never was in memory as a whole:
 * there the ring is what the writer had when the image's newest packet was copied.
 *
 * A failure ends the program: this is a test's tool.
 */
#ifndef INTEGRATION_REPLAYER_H
#define INTEGRATION_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAYER_IMAGES_MAX 100u

struct replayer_truth {
	const uint8_t **packets; /* each with its header, at its count minus FIRST */
	uint32_t first, n;
};

struct replayer {
	uint8_t *ring;
	uint32_t packet_bytes;
	struct replayer_truth truth;
	uint8_t *images[REPLAYER_IMAGES_MAX];
	size_t size; /* of an image, and so of the ring */
	uint32_t n;  /* images */

	uint32_t count;		     /* of the packet being written: the truth has no more than 65,536 */
	uint32_t used;		     /* of it, whole events */
	uint32_t torn;		     /* bytes of the event behind it that are counted and not written */
	uint64_t pause_ns;	     /* between two events */
	uint64_t rate, bytes, began; /* bytes in a second, 0 = as fast as can be; since when (ns, CLOCK_MONOTONIC) */
	uint64_t events, torn_events, skipped, shown;
};

/* Read the images of DIRECTORY and the truth, which is not compressed.  replayer_deinit frees them. */
void replayer_init(struct replayer *r, const char *directory, const char *truth);
void replayer_deinit(struct replayer *r);

/* Make the ring's first state in RING, of r->size bytes, which stays the caller's: nobody may look before this returns. */
void replayer_begin(struct replayer *r, uint8_t *ring);

/*
 * Write until the ring is what image I shows.  Between two images the real writer wrote far more than they show, and all of it is
 * written too; with JUMP only what the next image shows, as a reader sees it that was lapped.
 */
void replayer_image(struct replayer *r, uint32_t i, bool jump);

#endif
