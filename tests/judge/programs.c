/*
 * Each history has a first thread that starts one to three groups of threads and joins them. A group has
 * objects of its own, and a leader that ends when the group's work is done. A group that can hang does
 * so in some schedules only, as programs do: nothing here decides which.
 */
#include "programs.h"

#include <string.h>

struct builder {
	struct world *w;
	int program; /* that is being written */
};

static unsigned here(const struct builder *b)
{
	return b->w->programs[b->program].n;
}

/* Append an operation. Return its number. */
static unsigned put(struct builder *b, enum op_kind kind, int a, int to, int value)
{
	struct program *p = &b->w->programs[b->program];

	p->op[p->n] = (struct op){(uint8_t)kind, (uint8_t)a, (uint8_t)to, (int16_t)value};
	return p->n++;
}

static void patch(struct builder *b, unsigned op)
{
	b->w->programs[b->program].op[op].b = (uint8_t)here(b);
}

static struct builder program_new(struct world *w)
{
	return (struct builder){w, (int)w->n_programs++};
}

static int object_new(struct world *w, enum object_kind kind)
{
	w->objects[0][w->n_objects] = (struct object){.kind = kind, .holder = WORLD_NONE};
	return (int)w->n_objects++;
}

static int variable_new(struct world *w)
{
	return (int)w->n_variables++;
}

static bool chance(struct world *w, unsigned percent)
{
	return random_chance(&w->random, percent);
}

static unsigned from(struct world *w, unsigned least, unsigned most)
{
	return random_from(&w->random, least, most);
}

static void work(struct builder *b, unsigned us)
{
	put(b, chance(b->w, 70) ? OP_WORK : OP_SLEEP, 0, 0, (int)us);
}

/* Start N threads with PROGRAM, from child FIRST on, and join them. */
static void start_and_join(struct builder *b, const int *programs, unsigned n, bool joins)
{
	for (unsigned i = 0; i < n; i++)
		put(b, OP_SPAWN, programs[i], (int)i, 0);
	for (unsigned i = 0; joins && i < n; i++)
		put(b, OP_JOIN, 0, (int)i, 0);
}

/* ---- groups ---- */

/* A queue with workers, which a request for each item wakes. Healthy, however late its signals come. */
static int queue(struct world *w)
{
	int m = object_new(w, OBJECT_MUTEX), c = object_new(w, OBJECT_CONDITION);
	int items = variable_new(w), stop = variable_new(w), ready = variable_new(w), programs[4];
	unsigned n = from(w, 1, 4), top, again, leave;
	bool after = chance(w, 50);
	unsigned pace =
		chance(w, 70) ? from(w, 1, 400) : from(w, 0, 2); /* at the faster one a backlog waits for the workers */
	struct builder b = program_new(w), leader;

	if (chance(w, 30)) /* a worker may come to its first wait when others have done the work */
		put(&b, OP_WORK, 0, 0, (int)from(w, 1, 600));
	top = put(&b, OP_LOCK, m, 0, 0);
	again = put(&b, OP_IFSET, items, 0, 0);
	leave = put(&b, OP_IFSET, stop, 0, 0);
	put(&b, chance(w, 20) ? OP_TIMED : OP_WAIT, c, m, ready);
	put(&b, OP_GO, 0, (int)again, 0);
	patch(&b, again);
	put(&b, OP_ADD, items, 0, -1);
	put(&b, OP_ADD, ready, 0, -1);
	put(&b, OP_UNLOCK, m, 0, 0);
	put(&b, OP_WORK, 0, 0, (int)from(w, 1, 200));
	put(&b, OP_GO, 0, (int)top, 0);
	patch(&b, leave);
	put(&b, OP_UNLOCK, m, 0, 0);
	put(&b, OP_END, 0, 0, 0);
	leader = program_new(w);
	for (unsigned i = 0; i < n; i++)
		programs[i] = b.program;
	start_and_join(&leader, programs, n, false);
	top = here(&leader);
	put(&leader, OP_SLEEP, 0, 0, (int)pace);
	put(&leader, OP_LOCK, m, 0, 0);
	put(&leader, OP_ADD, items, 0, 1);
	put(&leader, OP_ADD, ready, 0, 1);
	if (after)
		put(&leader, OP_UNLOCK, m, 0, 0);
	put(&leader, OP_SIGNAL, c, 0, 0);
	if (!after)
		put(&leader, OP_UNLOCK, m, 0, 0);
	put(&leader, OP_LOOP, 0, (int)top, (int)from(w, 0, 30));
	put(&leader, OP_SLEEP, 0, 0, (int)from(w, 1, 2000));
	put(&leader, OP_LOCK, m, 0, 0);
	put(&leader, OP_SET, stop, 0, 1);
	put(&leader, OP_ADD, ready, 0, 20);
	put(&leader, OP_WAKEALL, c, 0, 0);
	put(&leader, OP_UNLOCK, m, 0, 0);
	for (unsigned i = 0; i < n; i++)
		put(&leader, OP_JOIN, 0, (int)i, 0);
	put(&leader, OP_END, 0, 0, 0);
	return leader.program;
}

/* A flag that is set and signalled; the waiter may look before it has the lock, or not at all. */
static int flag(struct world *w)
{
	int m = object_new(w, OBJECT_MUTEX), c = object_new(w, OBJECT_CONDITION), set = variable_new(w), programs[2];
	bool looks = chance(w, 70), locked = chance(w, 40), signals = chance(w, 90);
	struct builder b = program_new(w), s, leader;
	unsigned skip = 0, top = here(&b);

	work(&b, from(w, 1, 40));
	if (looks)
		skip = put(&b, OP_IFSET, set, 0, 0);
	if (chance(w, 50))
		put(&b, OP_WORK, 0, 0, (int)from(w, 1, 30));
	put(&b, OP_LOCK, m, 0, 0);
	put(&b, OP_WAIT, c, m, set);
	put(&b, OP_UNLOCK, m, 0, 0);
	if (looks)
		patch(&b, skip);
	put(&b, OP_SET, set, 0, 0);
	put(&b, OP_LOOP, 0, (int)top, 0);
	put(&b, OP_END, 0, 0, 0);
	s = program_new(w);
	work(&s, from(w, 1, 80));
	if (locked)
		put(&s, OP_LOCK, m, 0, 0);
	put(&s, OP_SET, set, 0, 1);
	if (signals)
		put(&s, chance(w, 50) ? OP_SIGNAL : OP_WAKEALL, c, 0, 0);
	if (locked)
		put(&s, OP_UNLOCK, m, 0, 0);
	work(&s, from(w, 1, 300));
	put(&s, OP_END, 0, 0, 0);
	leader = program_new(w);
	programs[0] = b.program;
	programs[1] = s.program;
	start_and_join(&leader, programs, 2, true);
	put(&leader, OP_END, 0, 0, 0);
	return leader.program;
}

/* Threads that lock several mutexes, each in its own order. */
static int orders(struct world *w)
{
	unsigned n = from(w, 2, 4), locks = from(w, 2, 3);
	bool sorted = chance(w, 40), forgets = !sorted && chance(w, 20);
	int m[3], programs[4];
	struct builder b;

	for (unsigned i = 0; i < locks; i++)
		m[i] = object_new(w, OBJECT_MUTEX);
	for (unsigned i = 0; i < n; i++) {
		unsigned first = from(w, 0, locks - 1), second = (first + from(w, 1, locks - 1)) % locks, top;

		if (sorted && second < first) {
			top = first;
			first = second;
			second = top;
		}
		b = program_new(w);
		programs[i] = b.program;
		top = here(&b);
		work(&b, from(w, 1, 60));
		put(&b, OP_LOCK, m[first], 0, 0);
		put(&b, OP_WORK, 0, 0, (int)from(w, 1, 40));
		put(&b, OP_LOCK, m[second], 0, 0);
		put(&b, OP_WORK, 0, 0, (int)from(w, 1, 20));
		put(&b, OP_UNLOCK, m[second], 0, 0);
		put(&b, OP_UNLOCK, m[first], 0, 0);
		put(&b, OP_LOOP, 0, (int)top, (int)from(w, 0, 12));
		if (forgets && i == 0)
			put(&b, OP_LOCK, m[first], 0, 0); /* and ends with it */
		put(&b, OP_END, 0, 0, 0);
	}
	b = program_new(w);
	start_and_join(&b, programs, n, true);
	put(&b, OP_END, 0, 0, 0);
	return b.program;
}

/* A mutex that its holder locks again. */
static int itself(struct world *w)
{
	int m = object_new(w, OBJECT_MUTEX), programs[2];
	struct builder b = program_new(w), o, leader;

	work(&b, from(w, 1, 60));
	put(&b, OP_LOCK, m, 0, 0);
	put(&b, OP_WORK, 0, 0, 10);
	put(&b, OP_LOCK, m, 0, 0);
	put(&b, OP_END, 0, 0, 0);
	o = program_new(w);
	work(&o, from(w, 1, 60));
	put(&o, OP_LOCK, m, 0, 0);
	put(&o, OP_UNLOCK, m, 0, 0);
	put(&o, OP_END, 0, 0, 0);
	leader = program_new(w);
	programs[0] = b.program;
	programs[1] = o.program;
	start_and_join(&leader, programs, from(w, 1, 2), true);
	put(&leader, OP_END, 0, 0, 0);
	return leader.program;
}

/* Permits of a semaphore, which one path does not give back. */
static int permits(struct world *w)
{
	int s = object_new(w, OBJECT_SEMAPHORE), seen = variable_new(w), programs[4];
	unsigned n = from(w, 2, 4), top, skip;
	bool leaks = chance(w, 50);
	struct builder b = program_new(w);

	w->objects[0][s].count = (int)from(w, 1, 3);
	top = put(&b, OP_ACQUIRE, s, 0, 0);
	put(&b, OP_WORK, 0, 0, (int)from(w, 1, 60));
	put(&b, OP_ADD, seen, 0, 1);
	skip = leaks && chance(w, 50) ? put(&b, OP_IFSET, seen, 0, 0) : 0;
	put(&b, OP_POST, s, 0, 0);
	if (skip)
		patch(&b, skip);
	work(&b, from(w, 1, 60));
	put(&b, OP_LOOP, 0, (int)top, (int)from(w, 1, 6));
	put(&b, OP_END, 0, 0, 0);
	for (unsigned i = 0; i < n; i++)
		programs[i] = b.program;
	b = program_new(w);
	start_and_join(&b, programs, n, true);
	put(&b, OP_END, 0, 0, 0);
	return b.program;
}

/* Readers, one of which may read again inside, and a writer that goes first. */
static int readers(struct world *w)
{
	int l = object_new(w, OBJECT_RWLOCK), programs[4];
	unsigned n = from(w, 1, 3), top;
	bool again = chance(w, 40);
	struct builder b = program_new(w);

	top = put(&b, OP_RDLOCK, l, 0, 0);
	put(&b, OP_WORK, 0, 0, (int)from(w, 1, 40));
	if (again) {
		put(&b, OP_RDLOCK, l, 0, 0);
		put(&b, OP_WORK, 0, 0, 5);
	}
	put(&b, OP_RWFREE, l, 0, 0);
	work(&b, from(w, 1, 40));
	put(&b, OP_LOOP, 0, (int)top, (int)from(w, 1, 6));
	put(&b, OP_END, 0, 0, 0);
	for (unsigned i = 0; i < n; i++)
		programs[i] = b.program;
	b = program_new(w);
	programs[n] = b.program;
	top = here(&b);
	work(&b, from(w, 1, 80));
	put(&b, OP_WRLOCK, l, 0, 0);
	put(&b, OP_WORK, 0, 0, (int)from(w, 1, 30));
	put(&b, OP_RWFREE, l, 0, 0);
	put(&b, OP_LOOP, 0, (int)top, (int)from(w, 0, 4));
	put(&b, OP_END, 0, 0, 0);
	b = program_new(w);
	start_and_join(&b, programs, n + 1, true);
	put(&b, OP_END, 0, 0, 0);
	return b.program;
}

/* Two threads and two pipes: requests and answers. One may wait for the answer before it has asked. */
static int pipes(struct world *w)
{
	int ask = object_new(w, OBJECT_PIPE), answer = object_new(w, OBJECT_PIPE), programs[2];
	unsigned rounds = from(w, 0, 8), top;
	bool wrong = chance(w, 25);
	struct builder b = program_new(w), o;

	top = put(&b, OP_WRITE, ask, 0, 0);
	work(&b, from(w, 1, 40));
	put(&b, OP_READ, answer, 0, 0);
	put(&b, OP_LOOP, 0, (int)top, (int)rounds);
	put(&b, OP_END, 0, 0, 0);
	o = program_new(w);
	top = put(&o, OP_READ, ask, 0, 0);
	put(&o, OP_WORK, 0, 0, (int)from(w, 1, 80));
	if (!wrong)
		put(&o, OP_WRITE, answer, 0, 0);
	put(&o, OP_LOOP, 0, (int)top, (int)rounds);
	put(&o, OP_END, 0, 0, 0);
	programs[0] = b.program;
	programs[1] = o.program;
	b = program_new(w);
	start_and_join(&b, programs, 2, true);
	put(&b, OP_END, 0, 0, 0);
	return b.program;
}

/* A child process, which talks over a pipe. Another thread of the parent may hold a lock at the fork. */
static int forks(struct world *w)
{
	int m = object_new(w, OBJECT_MUTEX), p = object_new(w, OBJECT_PIPE), logger;
	bool logs = chance(w, 50), reads = chance(w, 50);
	struct builder child = program_new(w), b;
	unsigned top;

	put(&child, OP_WORK, 0, 0, (int)from(w, 1, 60));
	if (logs) {
		put(&child, OP_LOCK, m, 0, 0);
		put(&child, OP_UNLOCK, m, 0, 0);
	}
	top = put(&child, OP_WRITE, p, 0, 0);
	put(&child, OP_LOOP, 0, (int)top, (int)from(w, 0, 5));
	put(&child, OP_END, 0, 0, 0);
	b = program_new(w);
	logger = b.program;
	top = put(&b, OP_LOCK, m, 0, 0);
	put(&b, OP_WORK, 0, 0, (int)from(w, 1, 30));
	put(&b, OP_UNLOCK, m, 0, 0);
	work(&b, from(w, 1, 30));
	put(&b, OP_LOOP, 0, (int)top, (int)from(w, 1, 10));
	put(&b, OP_END, 0, 0, 0);
	b = program_new(w);
	put(&b, OP_SPAWN, logger, 0, 0);
	work(&b, from(w, 1, 100));
	put(&b, OP_FORK, child.program, 1, 0);
	if (reads) {
		top = put(&b, OP_READ, p, 0, 0);
		put(&b, OP_LOOP, 0, (int)top, (int)from(w, 0, 5));
	}
	put(&b, OP_JOIN, 0, 1, 0);
	put(&b, OP_JOIN, 0, 0, 0);
	put(&b, OP_END, 0, 0, 0);
	return b.program;
}

/* A thread that computes for long, while another waits for it. */
static int computes(struct world *w)
{
	struct builder b = program_new(w), leader;
	int program = b.program;
	unsigned top = put(&b, OP_WORK, 0, 0, (int)from(w, 500, 3000));

	put(&b, OP_LOOP, 0, (int)top, (int)from(w, 1, 8));
	put(&b, OP_END, 0, 0, 0);
	leader = program_new(w);
	start_and_join(&leader, &program, 1, true);
	put(&leader, OP_END, 0, 0, 0);
	return leader.program;
}

void programs_make(struct world *w)
{
	static int (*const groups[])(struct world *w) = {queue,	 queue,	  flag,	   flag,  orders, orders,
							 itself, permits, readers, pipes, forks,  computes};
	struct builder first = program_new(w);
	unsigned n = random_chance(&w->random, 60) ? 1 : random_from(&w->random, 2, 3);
	int programs[3];

	for (unsigned i = 0; i < n; i++)
		programs[i] = groups[random_below(&w->random, sizeof(groups) / sizeof(groups[0]))](w);
	start_and_join(&first, programs, n, true);
	put(&first, OP_END, 0, 0, 0);
}
