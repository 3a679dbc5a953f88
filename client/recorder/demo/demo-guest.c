/*
 * Each step is one wake-up: thread 0 runs and resolves the requests that are due, the waiting
 * threads continue and start new work, and the guest sleeps. Ids are never reused. Every event goes
 * through EMIT(), so a limit ends the trace after exactly that many events, even in the middle of a
 * request.
 */
#include "demo-guest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum guest_wait_kind { WAIT_DISK, WAIT_TIMER, WAIT_ARP, WAIT_FIBRE, WAIT_KINDS };

/* Evaluate CALL, which records one event, unless the limit of events is reached. */
#define EMIT(g, call)                    \
	do {                             \
		if (guest_may_record(g)) \
			(void)(call);    \
	} while (0)

static bool guest_may_record(struct guest *g)
{
	if (!g->left)
		return false;
	g->left--;
	return true;
}

/* Return a random number from 0 to BELOW - 1, by xorshift64*: the same on every machine. */
static uint32_t guest_random(struct guest *g, uint32_t below)
{
	g->random ^= g->random >> 12;
	g->random ^= g->random << 25;
	g->random ^= g->random >> 27;
	return (uint32_t)((g->random * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static bool guest_chance(struct guest *g, uint32_t percent)
{
	return guest_random(g, 100) < percent;
}

static int64_t guest_create(struct guest *g, enum mprof_thread_type type)
{
	int64_t id = g->next_id++;

	EMIT(g, mprof_recorder_creates(g->recorder, id, type));
	g->minor_words += 40;
	return id;
}

__attribute__((format(printf, 3, 4))) static void guest_label(struct guest *g, int64_t thread, const char *format, ...)
{
	char text[96];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	EMIT(g, mprof_recorder_label(g->recorder, thread, text, strlen(text)));
}

static void guest_counter(struct guest *g, int64_t value, const char *name)
{
	EMIT(g, mprof_recorder_counter(g->recorder, value, name, strlen(name)));
}

/* Record a switch to THREAD unless THREAD runs already. */
static void guest_switch(struct guest *g, int64_t thread)
{
	if (thread != mprof_recorder_current(g->recorder))
		EMIT(g, mprof_recorder_switch(g->recorder, thread));
}

static void guest_read(struct guest *g, int64_t reader, int64_t source)
{
	if (reader != source)
		EMIT(g, mprof_recorder_read(g->recorder, reader, source));
}

static void guest_fail(struct guest *g, int64_t thread, const char *exn)
{
	EMIT(g, mprof_recorder_fails(g->recorder, thread, exn, strlen(exn)));
}

/*
 * Create a bind that waits for the unresolved THREAD. The device resolves THREAD in DUE steps
 * (guest_step()). If too many threads wait, THREAD fails instead.
 */
static void guest_wait_on(struct guest *g, enum guest_wait_kind kind, int64_t thread, unsigned conn, unsigned due)
{
	int64_t waiter;

	if (g->n_waits == GUEST_WAITS_MAX) {
		guest_fail(g, thread, "Lwt.Canceled");
		return;
	}
	waiter = guest_create(g, MPROF_THREAD_Bind);
	EMIT(g, mprof_recorder_try_read(g->recorder, waiter, thread));
	g->waits[g->n_waits++] =
		(struct guest_wait){.thread = thread, .waiter = waiter, .kind = kind, .conn = conn, .due = due};
}

static void start_disk_read(struct guest *g, unsigned conn)
{
	int64_t request = guest_create(g, MPROF_THREAD_Wait);

	guest_label(g, request, "blkif read sector %u", guest_random(g, 1u << 20) * 8);
	guest_counter(g, ++g->disk_queue, "blk.queue");
	guest_wait_on(g, WAIT_DISK, request, conn, 1 + guest_random(g, 4));
}

static void start_timer(struct guest *g, unsigned conn)
{
	int64_t timer = guest_create(g, MPROF_THREAD_Task);

	guest_label(g, timer, "sleep");
	guest_wait_on(g, WAIT_TIMER, timer, conn, 2 + guest_random(g, 12));
}

static void start_arp(struct guest *g, unsigned conn)
{
	int64_t query = guest_create(g, MPROF_THREAD_Wait);

	guest_label(g, query, "ARP response for 10.0.0.%u", 2 + conn);
	guest_wait_on(g, WAIT_ARP, query, conn, 1 + guest_random(g, 3));
}

/*
 * Create the threads that Lwt's combinators create around SOURCE, a request that has just been
 * answered.
 */
static void combinators(struct guest *g, int64_t source)
{
	static const enum mprof_thread_type result[] = {MPROF_THREAD_Try, MPROF_THREAD_Map, MPROF_THREAD_Join,
							MPROF_THREAD_Choose, MPROF_THREAD_Pick};
	static const enum mprof_thread_type callback[] = {MPROF_THREAD_On_success,     MPROF_THREAD_On_failure,
							  MPROF_THREAD_On_termination, MPROF_THREAD_On_any,
							  MPROF_THREAD_Ignore_result,  MPROF_THREAD_Async};
	int64_t made = guest_create(g, result[guest_random(g, 5)]);
	int64_t other;

	EMIT(g, mprof_recorder_try_read(g->recorder, made, source));
	if (guest_chance(g, 50)) {
		other = guest_create(g, callback[guest_random(g, 6)]);
		guest_read(g, other, source);
	}
	guest_read(g, made, source);
	EMIT(g, mprof_recorder_fulfills(g->recorder, made));
}

static void transmit(struct guest *g, struct guest_conn *c)
{
	int64_t bytes = 60 + guest_random(g, 1400);
	int64_t reply = guest_create(g, MPROF_THREAD_Map);

	c->bytes += bytes;
	g->tx_bytes += bytes;
	guest_counter(g, g->tx_bytes, "net.tx#bytes");
	EMIT(g, mprof_recorder_increase(g->recorder, guest_chance(g, 50) ? 1 : -1, "gntref", 6));
	EMIT(g, mprof_recorder_fulfills(g->recorder, reply));
}

static void disk_done(struct guest *g, const struct guest_wait *w)
{
	int64_t made;

	guest_counter(g, --g->disk_queue, "blk.queue");
	if (guest_chance(g, 6)) {
		guest_fail(g, w->thread, "Block.Timeout(\"xvda\")");
		guest_read(g, w->waiter, w->thread);
		guest_fail(g, w->waiter, "Block.Timeout(\"xvda\")");
		return;
	}
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->thread));
	guest_read(g, w->waiter, w->thread);
	made = guest_create(g, MPROF_THREAD_Task);
	guest_label(g, made, "reply to 10.0.0.%u:%u", 2 + w->conn, (unsigned)g->conns[w->conn].port);
	EMIT(g, mprof_recorder_becomes(g->recorder, w->waiter, made));
	transmit(g, &g->conns[w->conn]);
	EMIT(g, mprof_recorder_fulfills(g->recorder, made));
	combinators(g, made);
}

static void timer_done(struct guest *g, const struct guest_wait *w)
{
	if (guest_chance(g, 20)) {
		guest_fail(g, w->thread, "Lwt.Canceled");
		return;
	}
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->thread));
	guest_read(g, w->waiter, w->thread);
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->waiter));
	start_timer(g, w->conn);
}

static void arp_done(struct guest *g, const struct guest_wait *w)
{
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->thread));
	guest_read(g, w->waiter, w->thread);
	combinators(g, w->thread);
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->waiter));
}

/* End a wait of a fibre. A fibre records the end of its wait, not the beginning. */
static void fibre_done(struct guest *g, const struct guest_wait *w)
{
	EMIT(g, mprof_recorder_read_later(g->recorder, w->waiter, w->thread));
	EMIT(g, mprof_recorder_signal_noswitch(g->recorder, w->waiter, w->thread));
	guest_switch(g, w->waiter);
	EMIT(g, mprof_recorder_fulfills(g->recorder, w->waiter));
}

static void start_fibre(struct guest *g)
{
	static const enum mprof_thread_type types[] = {MPROF_THREAD_Promise, MPROF_THREAD_Semaphore,
						       MPROF_THREAD_Switch, MPROF_THREAD_Stream, MPROF_THREAD_Mutex};
	enum mprof_thread_type type = types[guest_random(g, 5)];
	int64_t made = guest_create(g, type);

	guest_label(g, made, "fibre pool");
	guest_wait_on(g, WAIT_FIBRE, made, 0, 1 + guest_random(g, 5));
}

/* Let thread 0 resolve the requests that are due, in the order in which they were created. */
static void resolve_due(struct guest *g)
{
	static void (*const done[WAIT_KINDS])(struct guest *, const struct guest_wait *) = {disk_done, timer_done,
											    arp_done, fibre_done};
	struct guest_wait due[GUEST_WAITS_MAX];
	unsigned kept = 0, n = 0;

	for (unsigned i = 0; i < g->n_waits; i++) {
		if (--g->waits[i].due)
			g->waits[kept++] = g->waits[i];
		else
			due[n++] = g->waits[i];
	}
	g->n_waits = kept;
	for (unsigned i = 0; i < n; i++) {
		guest_switch(g, 0);
		done[due[i].kind](g, &due[i]);
	}
}

/*
 * Deliver a packet to a connection: the driver signals the connection's condition, and the
 * connection's thread continues.
 */
static void receive(struct guest *g)
{
	unsigned conn = guest_random(g, GUEST_CONNS);
	struct guest_conn *c = &g->conns[conn];
	int64_t bytes = 60 + guest_random(g, 1440);

	EMIT(g, mprof_recorder_signal(g->recorder, g->net_loop, g->rx_condition));
	g->rx_bytes += bytes;
	guest_counter(g, g->rx_bytes, "net.rx#bytes");
	EMIT(g, mprof_recorder_signal(g->recorder, c->thread, c->ready));
	if (guest_chance(g, 70))
		start_disk_read(g, conn);
	else if (guest_chance(g, 50))
		start_arp(g, conn);
	else
		transmit(g, c);
	if (guest_chance(g, 15))
		start_fibre(g);
}

/* Open connection I: create its thread and its condition. */
static void conn_open(struct guest *g, unsigned i)
{
	struct guest_conn *c = &g->conns[i];

	c->port = (uint16_t)(1024 + guest_random(g, 60000));
	c->bytes = 0;
	c->thread = guest_create(g, MPROF_THREAD_Task);
	guest_label(g, c->thread, "TCP 10.0.0.%u:%u", 2 + i, (unsigned)c->port);
	c->ready = guest_create(g, MPROF_THREAD_Condition);
	guest_label(g, c->ready, "data from 10.0.0.%u", 2 + i);
}

static void conn_close(struct guest *g, unsigned i)
{
	guest_switch(g, g->conns[i].thread);
	if (guest_chance(g, 30))
		guest_fail(g, g->conns[i].thread, "Tcp.Connection_reset");
	else
		EMIT(g, mprof_recorder_fulfills(g->recorder, g->conns[i].thread));
}

static void collect_garbage(struct guest *g)
{
	g->heap_words += g->minor_words / 8;
	EMIT(g, mprof_recorder_gc(g->recorder, 20000 + guest_random(g, 400000)));
	guest_counter(g, g->heap_words, "heap words");
	g->minor_words = 0;
}

void guest_init(struct guest *g, struct mprof_recorder *recorder, uint64_t seed, uint64_t count)
{
	*g = (struct guest){.recorder = recorder, .next_id = 1, .heap_words = 65536};
	g->random = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	g->left = count ? count : UINT64_MAX;
}

void guest_boot(struct guest *g)
{
	guest_switch(g, 0);
	EMIT(g, mprof_recorder_label(g->recorder, 0, "main", 4));
	g->net_loop = guest_create(g, MPROF_THREAD_Task);
	guest_label(g, g->net_loop, "netif rx loop");
	g->disk_loop = guest_create(g, MPROF_THREAD_Task);
	guest_label(g, g->disk_loop, "blkif 51712");
	g->rx_condition = guest_create(g, MPROF_THREAD_Condition);
	guest_label(g, g->rx_condition, "netif rx ring");
	g->stuck = guest_create(g, MPROF_THREAD_Task);
	guest_label(g, g->stuck, "DHCP lease renewal");
	EMIT(g, mprof_recorder_label(g->recorder, g->stuck, "__should_resolve", 16));
	for (unsigned i = 0; i < GUEST_CONNS; i++)
		conn_open(g, i);
	for (unsigned i = 0; i < 3; i++)
		start_timer(g, i);
	EMIT(g, mprof_recorder_suspend(g->recorder));
}

bool guest_step(struct guest *g)
{
	unsigned i;

	guest_switch(g, 0);
	resolve_due(g);
	for (unsigned n = 1 + guest_random(g, 3); n-- > 0;)
		receive(g);
	if (++g->steps % 40 == 0) {
		i = guest_random(g, GUEST_CONNS);
		conn_close(g, i);
		conn_open(g, i);
	}
	/* Let the disk loop try to read the thread that never resolves. */
	if (g->steps % 100 == 0)
		EMIT(g, mprof_recorder_try_read(g->recorder, g->disk_loop, g->stuck));
	if (g->minor_words > 4096)
		collect_garbage(g);
	EMIT(g, mprof_recorder_suspend(g->recorder));
	return g->left > 0;
}
