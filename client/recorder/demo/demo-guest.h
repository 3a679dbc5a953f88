/*
 * The demo guest's workload: a simulated unikernel that serves packets from a network interface and
 * blocks from a disk. The seed decides everything: two guests with one seed record the same events
 * in the same order. Only timestamps and the lengths of pauses differ.
 */
#ifndef DEMO_GUEST_H
#define DEMO_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/recorder.h>

#define GUEST_WAITS_MAX 48u
#define GUEST_CONNS	6u

/* A thread that waits for a device. */
struct guest_wait {
	int64_t thread; /* the thread that the device resolves */
	int64_t waiter; /* the thread that waits for THREAD */
	unsigned kind;	/* enum guest_wait_kind */
	unsigned due;	/* number of calls of guest_step() until the device resolves THREAD */
	unsigned conn;
};

struct guest_conn {
	int64_t thread;
	int64_t ready; /* id of a condition, which is signalled when data arrives */
	int64_t bytes;
	uint16_t port;
};

struct guest {
	struct mprof_recorder *recorder;
	uint64_t random;
	uint64_t left; /* number of events that may still be recorded */
	int64_t next_id;
	unsigned steps;

	struct guest_wait waits[GUEST_WAITS_MAX];
	unsigned n_waits;
	struct guest_conn conns[GUEST_CONNS];
	int64_t rx_condition, net_loop, disk_loop, stuck;
	int64_t rx_bytes, tx_bytes, disk_queue, heap_words;
	unsigned minor_words;
};

/*
 * Prepare *G to record at most COUNT events (0: no limit) into RECORDER, which the caller owns.
 * SEED decides the events.
 */
void guest_init(struct guest *g, struct mprof_recorder *recorder, uint64_t seed, uint64_t count);

/*
 * Start the main thread, the drivers, the connections, and one thread that should resolve and never
 * does.
 */
void guest_boot(struct guest *g);

/*
 * Record one wake-up of the guest, some 10 to 200 events, up to the next suspend. Return false when
 * COUNT events (guest_init()) are recorded.
 */
bool guest_step(struct guest *g);

#endif
