/* The rings that a recorder writes of one process of a world, and what of them is hidden. */
#ifndef JUDGE_RECORDING_H
#define JUDGE_RECORDING_H

#include <mprof/recorder.h>

#include "world.h"

#define RECORDING_RINGS 48
#define RECORDING_BYTES (256u << 10)

/* Kinds of facts that the recorder leaves out. */
enum hidden_kind { HIDDEN_SIGNALS = 1, HIDDEN_LOCKS = 2, HIDDEN_OWNERS = 4 };

/* The parts of a recording that are hidden. All 0: none. */
struct hiding {
	unsigned ring_bytes; /* size of each thread's ring; a small one forgets its beginning */
	unsigned kinds;	     /* enum hidden_kind */
	unsigned lost_ring;  /* number from 1 of a thread's ring that is not there; 0 = none */
	unsigned cut_ring;   /* number of a ring in which packet CUT_PACKET is missing, from the oldest; 0 = none */
	unsigned cut_packet;
	int64_t step; /* ns by which the clock steps at STEP_AT */
	uint64_t step_at;
	bool durations;	     /* the recorder writes for how long locks were held */
	unsigned sampled_ns; /* the recorder samples a counter so often; 0 = never */
};

/* One ring. The bytes are in memory until recording_store(). */
struct ring {
	struct mprof_recorder recorder;
	uint8_t *memory;
	size_t bytes;
	int owner; /* thread that writes it now, WORLD_NONE */
	char name[16];
};

/* The place at which the recorder wrote a fact. */
struct place_of_fact {
	int ring; /* WORLD_NONE: nowhere */
	uint64_t sequence;
};

struct recording {
	const struct world *world;
	const struct hiding *hiding;
	int process;
	bool lwt;
	uint64_t until; /* the trace ends here */
	unsigned first; /* number of the first ring that can be hidden */
	struct ring rings[RECORDING_RINGS];
	unsigned n_rings;
	struct place_of_fact facts[3 * WORLD_STEPS];
	/* The wait of the world that wait I of the trace is; WORLD_NONE: a part of one. */
	int waits[WORLD_STEPS];
	unsigned n_waits;
	uint64_t held[WORLD_OBJECTS]; /* sum of the written durations, ns */
	bool cut;		      /* a packet was taken out */
	uint64_t cut_sequence;
};

/* Ids of a trace of mprof-run. */
int64_t recording_thread(int process, int thread);
int64_t recording_object(const struct world *w, int object);
/* Ids of a trace of Lwt. */
#define LWT_THREAD(i) (1000 + (int64_t)(i))
#define LWT_OBJECT(i) (100 + (int64_t)(i))
#define LWT_WAIT(i)   (10000 + (int64_t)(i))

/* Free the rings of R. */
void recording_deinit(struct recording *r);
/* Write PROCESS of W, up to UNTIL, as mprof-run does. Return false without memory. */
bool recording_run(struct recording *r, const struct world *w, int process, uint64_t until, const struct hiding *h);
/* Write the only process of W as a program with mirage-profile and Lwt does. Return as recording_run(). */
bool recording_lwt(struct recording *r, const struct world *w, uint64_t until, const struct hiding *h);
/* Write the files of all rings that are not hidden into the directory PATH. Return false on an error. */
bool recording_store(struct recording *r, const char *path);

/* The thread, object or wait that has an id in the trace. Fields that do not apply are WORLD_NONE. */
struct entity {
	int thread, object, wait;
};
struct entity recording_entity(const struct recording *r, int64_t id);

/* Return when the thread of the trace that stands for WAIT ended; WORLD_NEVER. */
uint64_t recording_end(const struct recording *r, int wait);

/* Return whether fact I is in the stored files. */
bool recording_shows(const struct recording *r, unsigned i);
/* Return whether a fact of THREAD is in the stored files. */
bool recording_has(const struct recording *r, int thread);
/* Return whether nothing of the process up to the end is hidden. */
bool recording_is_whole(const struct recording *r);

/* For the writers: add the ring NAME of BYTES bytes. Return it, or NULL. */
struct ring *ring_new(struct recording *r, const char *name, size_t bytes);
/* Return the time that the recorder's clock shows at TIME. */
uint64_t recording_clock(const struct recording *r, uint64_t time);

#endif
