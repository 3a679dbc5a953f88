/*
 * Random programs record with the recorder and with a model of the ring (recorder-model.h), and all bytes are
 * compared after each call.
 *
 * The clock of a program goes on, stands still, or is set back, and now and then it records an event itself.
 * Another program may continue the ring.
 */
#include "check.h"
#include "recorder-model.h"

#define PROGRAMS 400u
#define CALLS	 600u
#ifdef MPROF_RECORDER_HALVES
#define CONTINUES false /* a size may be half stored there */
#else
#define CONTINUES true
#endif

/* ---- random numbers --------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t n)
{
	return random64() % n;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static struct call call_random(void)
{
	struct call c = {.kind = (enum kind)below(KINDS), .a = (int64_t)below(5) - 1, .b = (int64_t)random64()};

	c.type = (unsigned)below(MPROF_THREAD_TYPES);
	c.n = below(40) ? below(below(4) ? 12 : 120) : below(TEXT_MAX);
	c.text = letters + below(TEXT_MAX - c.n + 1);
	c.interned = (unsigned)below(TEXTS);
	return c;
}

static void real_interned(struct mprof_recorder *r, const struct call *c)
{
	const struct mprof_text *text = &texts[c->interned];

	switch (c->kind) {
	case LABEL_TEXT:
		mprof_recorder_label_text(r, c->a, text);
		break;
	case INCREASE_TEXT:
		mprof_recorder_increase_text(r, c->b, text);
		break;
	case COUNTER_TEXT:
		mprof_recorder_counter_text(r, c->b, text);
		break;
	default:
		mprof_recorder_duration_text(r, c->a, (uint64_t)c->b, text);
	}
}

static void real_call(struct mprof_recorder *r, const struct call *c)
{
	switch (c->kind) {
	case CREATES:
		mprof_recorder_creates(r, c->b, (enum mprof_thread_type)c->type);
		break;
	case READ:
		mprof_recorder_read(r, c->a, c->b % 3);
		break;
	case TRY_READ:
		mprof_recorder_try_read(r, c->a, c->b);
		break;
	case FULFILLS:
		mprof_recorder_fulfills(r, c->b);
		break;
	case FAILS:
		mprof_recorder_fails(r, c->b, c->text, c->n);
		break;
	case BECOMES:
		mprof_recorder_becomes(r, c->a, c->b);
		break;
	case LABEL:
		mprof_recorder_label(r, c->a, c->text, c->n);
		break;
	case SHOULD_RESOLVE:
		mprof_recorder_should_resolve(r, c->a);
		break;
	case INCREASE:
		mprof_recorder_increase(r, c->b, c->text, c->n);
		break;
	case COUNTER:
		mprof_recorder_counter(r, c->b, c->text, c->n);
		break;
	case DURATION:
		mprof_recorder_duration(r, c->a, (uint64_t)c->b, c->text, c->n);
		break;
	case SWITCH:
		mprof_recorder_switch(r, c->a);
		break;
	case SUSPEND:
		mprof_recorder_suspend(r);
		break;
	case GC:
		mprof_recorder_gc(r, (uint64_t)c->b);
		break;
	case SIGNAL:
		mprof_recorder_signal(r, c->a, c->b);
		break;
	case READ_LATER:
		mprof_recorder_read_later(r, c->a, c->b);
		break;
	case SIGNAL_NOSWITCH:
		mprof_recorder_signal_noswitch(r, c->a, c->b);
		break;
	default:
		real_interned(r, c);
	}
}

static struct mprof_recorder recorder;
static bool real_inside; /* the clock makes a call */

static uint64_t real_clock(void *context)
{
	(void)context;
	if (real_inside)
		return times[0];
	if (has_inner) {
		real_inside = true;
		real_call(&recorder, &inner);
		real_inside = false;
	}
	return times[1];
}

/* ---- programs --------------------------------------------------------------------------------- */

static _Alignas(8) uint8_t ring[MODEL_BYTES_MAX];
static uint64_t kinds_seen[KINDS], turns_seen, drops_seen, continued;

static uint64_t time_next(uint64_t ns)
{
	switch (below(200)) {
	case 0:
		return ns - below(ns < 2 * (uint64_t)SECOND ? ns + 1 : 2 * (uint64_t)SECOND);
	case 1:
		return below(100);
	case 2:
		return ns + below(100) * SECOND;
	default:
		return ns + below(4) * below(1000);
	}
}

static void texts_make(void)
{
	for (size_t i = 0; i < TEXT_MAX; i++)
		letters[i] = (char)(below(500) ? 'a' + below(26) : 0);
	for (unsigned i = 0; i < TEXTS; i++) {
		size_t n = below(8) ? below(30) : below(1000);

		texts[i] =
			(struct mprof_text){letters + below(TEXT_MAX - n), n, below(5) ? 0 : (uint8_t)(1 + below(3))};
	}
}

/* Make one call, or another step, on both sides. */
static void step(bool clock, uint64_t *ns)
{
	struct call c = call_random();

	has_inner = clock && below(8) == 0;
	inner = call_random();
	times[0] = *ns = time_next(*ns);
	times[1] = *ns = time_next(*ns);
	if (!clock)
		mprof_recorder_at(&recorder, times[1]);
	if (below(100) == 0) {
		model.compatible = !model.compatible;
		mprof_recorder_compatible(&recorder, model.compatible);
	}
	if (CONTINUES && below(200) == 0) {
		continued++;
		CHECK_EQ_INT(mprof_recorder_continue(&recorder, ring, model.size, (unsigned)model.packets,
						     clock ? real_clock : NULL, NULL),
			     MPROF_RECORDER_OK);
		model_continue(&model);
		if (!clock)
			mprof_recorder_at(&recorder, times[1]);
	}
	kinds_seen[c.kind]++;
	real_call(&recorder, &c);
	model_call(&model, &c);
}

/* Run the program SEED. Return false if the recorder and the model differ. */
static bool program(uint64_t seed)
{
	size_t size, packets;
	uint64_t ns;
	bool clock;

	random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
	texts_make();
	size = MPROF_RING_BYTES_MIN + below(below(2) ? 3000 : MODEL_BYTES_MAX - MPROF_RING_BYTES_MIN + 1);
	packets = 2 + below(below(2) ? 4 : size / MPROF_RECORDER_PACKET_MIN - 1);
	clock = below(2);
	ns = below(2) ? 0 : random64() >> 2;
	for (size_t i = 0; i < size; i++)
		ring[i] = model.ring[i] = (uint8_t)random64();
	model_init(&model, size, packets, clock);
	CHECK_EQ_INT(mprof_recorder_init(&recorder, ring, size, (unsigned)packets, clock ? real_clock : NULL, NULL),
		     MPROF_RECORDER_OK);
	for (unsigned i = 0; i < CALLS; i++) {
		if (i)
			step(clock, &ns);
		for (size_t at = 0; at < size; at++)
			if (ring[at] != model.ring[at]) {
				fprintf(stderr, "program %u, call %u: byte %zu is %u, of the model %u\n",
					(unsigned)seed, i, at, ring[at], model.ring[at]);
				return CHECK(false);
			}
		if (!CHECK_EQ_UINT(mprof_recorder_dropped(&recorder), model.drops) ||
		    !CHECK_EQ_INT(mprof_recorder_current(&recorder), model.current))
			return false;
	}
	turns_seen += model.sequence;
	drops_seen += model.drops;
	return true;
}

static void test_programs(void)
{
	for (uint64_t seed = 0; seed < PROGRAMS; seed++)
		if (!program(seed))
			return;
	/* All that the model knows has happened. */
	for (unsigned kind = 0; kind < KINDS; kind++)
		CHECK(kinds_seen[kind] > 1000);
	CHECK(turns_seen > 10000);
	CHECK(drops_seen > 1000);
	CHECK(!CONTINUES || continued > 100);
}

int main(void)
{
	CHECK_RUN(test_programs);
	return check_done();
}
