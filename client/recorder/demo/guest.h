/*
 * The demo guest's workload: a unikernel that serves packets from a network interface and blocks from a disk.
 *
 * It is simulated, and decided by its seed alone: two guests of one seed record the same events in the same order, but for the
 * timestamps and the lengths of their pauses.
 */
#ifndef DEMO_GUEST_H
#define DEMO_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/recorder.h>

#define GUEST_WAITS_MAX 48u
#define GUEST_CONNS	6u

/* A thread that waits for the outside world. */
struct guest_wait {
	int64_t thread; /* what the device resolves */
	int64_t waiter; /* who goes on then */
	unsigned kind;	/* enum guest_wait_kind */
	unsigned due;	/* steps from now */
	unsigned conn;
};

struct guest_conn {
	int64_t thread;
	int64_t ready; /* a condition: data has come */
	int64_t bytes;
	uint16_t port;
};

struct guest {
	struct mprof_recorder *recorder;
	uint64_t random;
	uint64_t left; /* events that may still be recorded */
	int64_t next_id;
	unsigned steps;

	struct guest_wait waits[GUEST_WAITS_MAX];
	unsigned n_waits;
	struct guest_conn conns[GUEST_CONNS];
	int64_t rx_condition, net_loop, disk_loop, stuck;
	int64_t rx_bytes, tx_bytes, disk_queue, heap_words;
	unsigned minor_words;
};

/* Record into RECORDER, which stays the caller's, at most COUNT events (0: no limit), decided by SEED. */
void guest_init(struct guest *g, struct mprof_recorder *recorder, uint64_t seed, uint64_t count);

/* Start up: the main thread, the drivers, the connections, and the one thread that should resolve and never does. */
void guest_boot(struct guest *g);

/* Handle what one wake-up of the guest brings, some 10 to 200 events, and go to sleep again.  False when COUNT is reached. */
bool guest_step(struct guest *g);

#endif
