/*
 * The decoder of memtrace streams: valid streams cut into pieces of any size, and the events that
 * are kept of damaged streams. tests/integration/mem-oracles.py checks real streams.
 */
#include <stdlib.h>

#include <mprof/bytes.h>
#include <mprof/memtrace.h>

#include "check.h"

#define START 1795259273941809u
#define PID   4711

/* ---- making a stream ---- */

struct stream {
	uint8_t bytes[1 << 20];
	size_t n;
	size_t packet; /* offset of the open packet in the stream */
	uint16_t version;
	uint64_t next_id;
	uint64_t time;
};

static struct stream made;

static void put(const void *bytes, size_t n)
{
	memcpy(made.bytes + made.n, bytes, n);
	made.n += n;
}

static void put8(uint8_t v)
{
	made.bytes[made.n++] = v;
}

static void put16(uint16_t v)
{
	mprof_store16(made.bytes + made.n, v);
	made.n += 2;
}

static void put64(uint64_t v)
{
	mprof_store64(made.bytes + made.n, v);
	made.n += 8;
}

static void put_text(const char *text)
{
	put(text, strlen(text) + 1);
}

/* Write the first word of an event of the kind ID at US microseconds after the start. */
static void put_event(uint32_t id, uint64_t us)
{
	uint8_t word[4];

	made.time = START + us;
	mprof_store32(word, id << 25 | (uint32_t)(made.time & 0x1ffffff));
	put(word, 4);
}

static size_t header_bytes(void)
{
	return made.version < 3 ? 66 : 68;
}

static void packet_begin(uint64_t us, uint16_t domain)
{
	uint8_t *p = made.bytes + made.n;

	made.packet = made.n;
	memset(p, 0, 68);
	mprof_store32(p, 0xc1fc1fc1);
	mprof_store64(p + 8, START + us);
	mprof_store16(p + 28, made.version);
	mprof_store64(p + 30, PID);
	if (made.version == 3)
		mprof_store16(p + 38, domain);
	mprof_store16(p + header_bytes() - 28, 0xffff);
	mprof_store64(p + header_bytes() - 16, made.next_id);
	made.time = START + us;
	made.n += header_bytes();
}

static void packet_end(void)
{
	uint8_t *p = made.bytes + made.packet;

	mprof_store32(p + 4, (uint32_t)(made.n - made.packet) * 8);
	mprof_store64(p + 16, made.time);
	mprof_store64(p + header_bytes() - 8, made.next_id);
}

/* Begin a stream of the version VERSION with its trace info. */
static void stream_begin(uint16_t version)
{
	double rate = 0.001;

	made.n = 0;
	made.version = version;
	made.next_id = 0;
	packet_begin(0, 0);
	put_event(0, 0);
	put(&rate, 8);
	put8(64);
	put_text("program");
	put_text("host");
	put_text("s=256k");
	put64(PID);
	if (version > 1)
		put_text("a test");
	packet_end();
}

/*
 * Write an allocation of LENGTH words, at most 16. It shares PREFIX frames with the previous stack.
 * The caller writes the N codewords that follow.
 */
static void put_alloc(uint32_t length, uint8_t prefix, uint8_t n, uint64_t us)
{
	put_event(100 + length, us);
	put8(prefix);
	put8(n);
	made.next_id++;
}

static void put_miss(uint16_t bucket, uint64_t code)
{
	put16((uint16_t)(bucket << 2 | 3));
	put64(code);
}

static void put_hit(uint16_t bucket, uint8_t more)
{
	put16((uint16_t)(bucket << 2 | (more < 2 ? more : 2)));
	if (more >= 2)
		put8(more);
}

static void put_location(uint32_t line, uint8_t file, uint8_t function, const char *new_file, const char *new_function)
{
	uint64_t word = line | (uint64_t)4 << 20 | (uint64_t)9 << 28 | (uint64_t)file << 38 | (uint64_t)function << 43;
	uint8_t bytes[8];

	mprof_store64(bytes, word);
	put(bytes, 6);
	if (new_file)
		put_text(new_file);
	if (new_function)
		put_text(new_function);
}

/* Write a packet with one allocation, whose stack has two frames. */
static void packet_plain(uint64_t us, uint16_t domain)
{
	packet_begin(us, domain);
	put_alloc(2, 0, 2, us);
	put_miss(7, 0x100);
	put_miss(9, 0x200);
	packet_end();
}

/* ---- reading a stream ---- */

/* Output of the decoder, as lines of text. */
struct told {
	char text[1 << 16];
	size_t n;
	struct mprof_mem_totals totals;
};

static void tell_stack(struct told *told, const struct mprof_mem *d, const struct mprof_mem_event *e)
{
	for (uint32_t i = 0; i < e->frames && told->n < 60000; i++) {
		const struct mprof_mem_code *code = mprof_mem_code(d, e->stack[i]);

		told->n += (size_t)sprintf(told->text + told->n, " %" PRIx64, code->code);
		for (uint32_t k = 0; k < code->locations; k++) {
			const struct mprof_mem_location *l = mprof_mem_location(d, code->first_location + k);
			size_t n, m;
			const char *function = mprof_mem_string(d, l->function, &n),
				   *file = mprof_mem_string(d, l->file, &m);

			told->n += (size_t)sprintf(told->text + told->n, "=%.*s@%.*s:%u", (int)n, function, (int)m,
						   file, l->line);
		}
	}
}

static void tell(struct told *told, const struct mprof_mem *d, enum mprof_status status,
		 const struct mprof_mem_event *e)
{
	static const char kinds[] = "bapc";
	char *at = told->text + told->n;

	if (told->n > 60000)
		return;
	if (status == MPROF_CORRUPT) {
		told->n += (size_t)sprintf(at, "damage %d skipped %" PRIu64 "\n", mprof_mem_damage(d)->reason,
					   mprof_mem_damage(d)->skipped);
		return;
	}
	told->n += (size_t)sprintf(at, "%c%" PRId64 " @%" PRIu64, kinds[e->kind], e->id, e->time_us - START);
	if (e->kind == MPROF_MEM_ALLOC) {
		told->n += (size_t)sprintf(told->text + told->n, " %" PRIu64 "*%" PRIu64 " s%u f%u +%u:", e->length,
					   e->samples, e->source, e->flags, e->common);
		tell_stack(told, d, e);
	}
	told->n += (size_t)sprintf(told->text + told->n, "\n");
}

static void drain(struct told *told, struct mprof_mem *d, enum mprof_status stop)
{
	struct mprof_mem_event e;
	enum mprof_status status;

	while ((status = mprof_mem_next(d, &e)) != stop)
		tell(told, d, status, &e);
}

static struct told *read_in(struct told *told, size_t piece, bool stacks)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = stacks, .seed = 5});
	/* Copy the input to its own memory, so that a sanitizer detects an access past its end. */
	uint8_t *bytes;
	size_t at, n;

	told->n = 0;
	for (at = 0; at < made.n; at += n) {
		n = made.n - at < piece ? made.n - at : piece;
		bytes = malloc(n);
		memcpy(bytes, made.bytes + at, n);
		mprof_mem_feed(d, bytes, n);
		drain(told, d, MPROF_MORE);
		free(bytes);
	}
	mprof_mem_finish(d);
	drain(told, d, MPROF_END);
	told->text[told->n] = 0;
	told->totals = *mprof_mem_totals(d);
	mprof_mem_free(d);
	return told;
}

/* Decode the stream in pieces of several sizes, which must give the same text. Return this text. */
static const char *says(void)
{
	static struct told whole, cut;

	read_in(&whole, sizeof(made.bytes), true);
	for (size_t piece = 1; piece < 80; piece += 13) {
		read_in(&cut, piece, true);
		CHECK_EQ_STR(cut.text, whole.text);
		CHECK_EQ_INT(cut.totals.damages, whole.totals.damages);
		CHECK_EQ_INT(cut.totals.skipped, whole.totals.skipped);
	}
	return whole.text;
}

/* ---- tests ---- */

static void test_events(void)
{
	stream_begin(2);
	packet_begin(100, 0);
	put_alloc(2, 0, 2, 100);
	put_miss(7, 0x100);
	put_miss(9, 0x200);
	put_event(2, 101); /* the long form of an allocation, with a number of each size */
	put8(253), put16(300);
	put8(3);
	put8(1);
	put8(1), put16(1);
	put_miss(11, 0x300);
	made.next_id++;
	put_alloc(16, 0, 1, 102);
	/*
	 * Refer to bucket 7. The decoder must predict bucket 9 behind it, as in the first event. The
	 * second event wrote bucket 11, but the predictions begin anew with each event, so they do not
	 * say that 11 follows 7.
	 */
	put_hit(7, 1);
	put_event(3, 103), put8(1);
	put_event(4, 104), put8(2);
	packet_end();
	CHECK_EQ_STR(says(), "b0 @0\n"
			     "a0 @100 2*1 s0 f0 +0: 100 200\n"
			     "a1 @101 300*3 s1 f0 +1: 100 300\n"
			     "a2 @102 16*1 s0 f0 +0: 100 200\n"
			     "p1 @103\n"
			     "c0 @104\n");
}

static void test_info(void)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true});
	struct mprof_mem_event e;

	for (uint16_t version = 1; version <= 3; version++) {
		stream_begin(version);
		CHECK(mprof_mem_begins(made.bytes, made.n));
		mprof_mem_feed(d, made.bytes, made.n);
		CHECK_EQ_INT(mprof_mem_next(d, &e), MPROF_OK);
		CHECK_EQ_INT(e.kind, MPROF_MEM_BEGIN);
		CHECK_EQ_STR(mprof_mem_info(d)->program, "program");
		CHECK_EQ_STR(mprof_mem_info(d)->host, "host");
		CHECK_EQ_STR(mprof_mem_info(d)->context, version == 1 ? "" : "a test");
		CHECK_EQ_INT(mprof_mem_info(d)->version, version);
		CHECK_EQ_INT(mprof_mem_info(d)->pid, PID);
		CHECK_EQ_INT(mprof_mem_info(d)->word_bytes, 8);
		CHECK(mprof_mem_info(d)->rate > 0.00099 && mprof_mem_info(d)->rate < 0.00101);
		CHECK_EQ_INT(mprof_mem_next(d, &e), MPROF_MORE);
	}
	CHECK(!mprof_mem_begins("plain", 5));
	mprof_mem_free(d);
}

static void test_names(void)
{
	stream_begin(2);
	packet_begin(50, 0);
	put_event(1, 50), put64(0x100), put8(2);
	put_location(10, 31, 31, "a.ml", "A.f");
	put_location(20, 31, 31, "b.ml", "B.g");
	put_event(1, 50), put64(0x200), put8(1);
	put_location(30, 1, 0, NULL, NULL); /* file a.ml and function A.f again */
	packet_end();
	packet_plain(100, 0);
	CHECK_EQ_STR(says(), "b0 @0\na0 @100 2*1 s0 f0 +0: 100=A.f@a.ml:10=B.g@b.ml:20 200=A.f@a.ml:30\n");
}

/* Empty names of files and functions are valid. */
static void test_empty_names(void)
{
	stream_begin(2);
	packet_begin(50, 0);
	put_event(1, 50), put64(0x100), put8(1);
	put_location(10, 31, 31, "", "");
	packet_end();
	packet_plain(100, 0);
	CHECK_EQ_STR(says(), "b0 @0\na0 @100 2*1 s0 f0 +0: 100=@:10 200\n");
}

/* mprof_mem_damage_text returns the length of the text in the buffer, also if the text was cut. */
static void test_damage_text(void)
{
	const struct mprof_mem_damage damage = {.reason = MPROF_MEM_DAMAGE_HEADER};
	char text[200], cut[10];
	size_t n = mprof_mem_damage_text(&damage, text, sizeof(text));

	CHECK_EQ_UINT(n, strlen(text));
	CHECK_EQ_UINT(mprof_mem_damage_text(&damage, cut, sizeof(cut)), sizeof(cut) - 1);
	CHECK(memcmp(text, cut, sizeof(cut) - 1) == 0 && cut[sizeof(cut) - 1] == '\0');
	CHECK_EQ_UINT(mprof_mem_damage_text(&damage, text, n + 1), n);
	CHECK_EQ_UINT(mprof_mem_damage_text(&damage, NULL, 0), 0);
}

/*
 * A location refers to an entry of the name table that does not exist. The names are lost, and
 * nothing else.
 */
static void test_bad_names(void)
{
	stream_begin(2);
	packet_begin(50, 0);
	put_event(1, 50), put64(0x100), put8(1);
	put_location(10, 31, 31, "a.ml", "A.f");
	put_event(1, 50), put64(0x200), put8(1);
	put_location(10, 5, 0, NULL, NULL);
	packet_end();
	packet_plain(100, 0);
	packet_begin(150, 0);
	put_event(1, 150), put64(0x200), put8(1);
	put_location(10, 31, 31, "c.ml", "C.f");
	packet_end();
	packet_plain(200, 0);
	CHECK_EQ_STR(says(), "b0 @0\ndamage 5 skipped 19\n"
			     "a0 @100 2*1 s0 f0 +0: 100=A.f@a.ml:10 200\n"
			     "a1 @200 2*1 s0 f0 +0: 100=A.f@a.ml:10 200\n");
}

/*
 * The writer stops after 4,096 bytes of a stack. The number of frames that the next stack shares
 * refers to the whole stack.
 */
static void test_truncated(void)
{
	struct told told;

	stream_begin(2);
	packet_begin(100, 0);
	put_event(2, 100), put8(9), put8(1), put8(0), put8(0), put16(409);
	for (uint16_t i = 0; i < 409; i++)
		put_miss((uint16_t)(i + 1), 0x1000u + i);
	made.next_id++;
	/* This stack shares 500 frames, of which the stream has 409. */
	put_event(103, 101), put8(253), put16(500), put8(1);
	put_miss(600, 0x5000);
	made.next_id++;
	put_alloc(3, 1, 1, 102);
	put_hit(600, 0);
	packet_end();
	read_in(&told, 4096, true);
	CHECK_EQ_INT(told.totals.truncated, 2);
	CHECK_EQ_INT(told.totals.damages, 0);
	CHECK(strstr(told.text, "a1 @101 3*1 s0 f1 +409: 1000"));
	CHECK(strstr(told.text, "a2 @102 3*1 s0 f0 +1: 1000 5000\n"));
}

static void test_check(void)
{
	stream_begin(2);
	packet_plain(100, 0);
	for (int wrong = 0; wrong < 2; wrong++) {
		packet_plain(200 + (unsigned)wrong, 0);
		mprof_store16(made.bytes + made.packet + 38, 7);
		mprof_store16(made.bytes + made.packet + 40, 9);
		mprof_store64(made.bytes + made.packet + 42, wrong ? 0x101 : 0x100);
	}
	CHECK_EQ_STR(says(), "b0 @0\n"
			     "a0 @100 2*1 s0 f0 +0: 100 200\n"
			     "a1 @200 2*1 s0 f0 +0: 100 200\n"
			     "damage 6 skipped 0\n"
			     "a2 @201 2*1 s0 f2 +0:\n");
}

/*
 * The clock steps back inside a packet and between two packets, and one time is before the trace's
 * start.
 */
static void test_clock(void)
{
	stream_begin(2);
	packet_begin(1000, 0);
	put_alloc(1, 0, 0, 1000);
	put_alloc(1, 0, 0, 1200);
	put_alloc(1, 0, 0, 900);
	put_alloc(1, 0, 0, 1300);
	packet_end();
	packet_begin(500, 0);
	put_alloc(1, 0, 0, 500);
	put_alloc(1, 0, 0, 1400);
	packet_end();
	CHECK_EQ_STR(says(), "b0 @0\n"
			     "a0 @1000 1*1 s0 f0 +0:\n"
			     "a1 @1200 1*1 s0 f0 +0:\n"
			     "a2 @1200 1*1 s0 f4 +0:\n"
			     "a3 @1300 1*1 s0 f0 +0:\n"
			     "a4 @1300 1*1 s0 f4 +0:\n"
			     "a5 @1400 1*1 s0 f0 +0:\n");
}

/* The low bits of the time wrap after 33.55 s. */
static void test_long_time(void)
{
	stream_begin(2);
	packet_begin(40000000, 0);
	put_alloc(1, 0, 0, 40000000);
	put_alloc(1, 0, 0, 69000000);
	packet_end();
	CHECK_EQ_STR(says(), "b0 @0\na0 @40000000 1*1 s0 f0 +0:\na1 @69000000 1*1 s0 f0 +0:\n");
}

static void test_domains(void)
{
	stream_begin(3);
	packet_plain(100, 1);
	made.next_id = 700;
	packet_begin(90, 2); /* earlier than the other domain's packet, and with caches of its own */
	put_alloc(4, 0, 1, 90);
	put_hit(7, 0);
	put_event(4, 95), put8(254), put64(0), made.n -= 4; /* a signed 32-bit number follows */
	mprof_store32(made.bytes + made.n - 4, (uint32_t)-300);
	packet_end();
	CHECK_EQ_STR(says(), "b0 @0\na0 @100 2*1 s0 f0 +0: 100 200\na700 @90 4*1 s0 f0 +0: 0\nc1000 @95\n");
}

/* If there are more domains than the decoder has caches for, stacks are dropped. */
static void test_many_domains(void)
{
	static struct told told;

	stream_begin(3);
	for (uint16_t i = 0; i < 300; i++)
		packet_plain(100, i);
	read_in(&told, sizeof(made.bytes), true);
	CHECK_EQ_INT(told.totals.stackless, 300 - MPROF_MEM_DOMAINS_MAX);
	CHECK_EQ_INT(told.totals.damages, 0);
}

static void test_garbage(void)
{
	stream_begin(2);
	packet_plain(100, 0);
	put("\xc1\x1f\xfc\xc1 not this one, and nothing at all", 37);
	packet_plain(200, 0);
	put("\xc1\x1f\xfc", 3);
	CHECK_EQ_STR(says(), "b0 @0\n"
			     "a0 @100 2*1 s0 f0 +0: 100 200\n"
			     "damage 0 skipped 37\n"
			     "a1 @200 2*1 s0 f0 +0: 100 200\n"
			     "damage 8 skipped 3\n");
}

/*
 * An invalid event loses the rest of its packet. The next packet's stacks cannot be decoded then,
 * but ids stay right.
 */
static void test_bad_event(void)
{
	stream_begin(2);
	packet_begin(100, 0);
	put_alloc(1, 0, 0, 100);
	put_event(99, 101);
	put_alloc(1, 0, 0, 102);
	packet_end();
	packet_plain(200, 0);
	CHECK_EQ_STR(says(), "b0 @0\na0 @100 1*1 s0 f0 +0:\ndamage 4 skipped 10\na2 @200 2*1 s0 f2 +0:\n");
}

/*
 * The rest of a damaged packet may have defined names. The table lacks them, so later definitions
 * are not trusted.
 */
static void test_names_behind_bad_event(void)
{
	static struct told told;

	stream_begin(3);
	packet_begin(100, 1);
	put_event(99, 100);
	packet_end();
	packet_begin(150, 1);
	put_event(1, 150), put64(0x100), put8(1);
	put_location(10, 31, 31, "a.ml", "A.f");
	packet_end();
	packet_plain(200, 2);
	read_in(&told, sizeof(made.bytes), true);
	CHECK_EQ_STR(told.text, "b0 @0\ndamage 4 skipped 4\na0 @200 2*1 s0 f0 +0: 100 200\n");
	CHECK_EQ_UINT(told.totals.unnamed, 1);
}

static void test_ids(void)
{
	stream_begin(2);
	packet_plain(100, 0);
	mprof_store64(made.bytes + made.packet + 58, 5);
	made.next_id = 5;
	packet_plain(200, 0);
	CHECK_EQ_STR(says(),
		     "b0 @0\na0 @100 2*1 s0 f0 +0: 100 200\ndamage 7 skipped 0\na5 @200 2*1 s0 f0 +0: 100 200\n");
}

static void test_cut(void)
{
	size_t whole;

	stream_begin(2);
	packet_plain(100, 0);
	whole = made.n;
	packet_plain(200, 0);
	for (made.n--; made.n > whole; made.n -= 9) {
		const char *told = says();

		CHECK(strstr(told, "a0 @100") && !strstr(told, "a1 "));
		CHECK(strstr(told, "damage 8"));
		if (made.n < whole + 9)
			break;
	}
}

/* Packets of a forked child are skipped. A second recording in the same stream begins anew. */
static void test_others(void)
{
	stream_begin(2);
	packet_plain(100, 0);
	mprof_store64(made.bytes + made.packet + 30, PID + 1);
	made.next_id = 0;
	packet_plain(200, 0);
	packet_begin(0, 0);
	made.n = made.packet;
	put(made.bytes, mprof_load32(made.bytes + 4) / 8);
	made.next_id = 0;
	packet_plain(300, 0);
	CHECK_EQ_STR(says(), "b0 @0\n"
			     "damage 1 skipped 92\n"
			     "a0 @200 2*1 s0 f0 +0: 100 200\n"
			     "b0 @0\n"
			     "a0 @300 2*1 s0 f0 +0: 100 200\n");
}

static void test_no_info(void)
{
	made.n = 0;
	made.version = 2;
	made.next_id = 0;
	packet_plain(100, 0);
	CHECK_EQ_STR(says(), "damage 2 skipped 92\n");
	stream_begin(2);
	made.bytes[66 + 4 + 8] = 17; /* number of bits of a word */
	packet_plain(100, 0);
	CHECK(strncmp(says(), "damage 3", 8) == 0);
}

static void test_without_stacks(void)
{
	static struct told told;

	stream_begin(2);
	packet_plain(100, 0);
	packet_plain(200, 0);
	read_in(&told, 100, false);
	CHECK_EQ_STR(told.text, "b0 @0\na0 @100 2*1 s0 f0 +0:\na1 @200 2*1 s0 f0 +0:\n");
}

/* A few bytes encode a stack of a million frames. The decoder limits the frames that it decodes. */
static void test_deep(void)
{
	static struct told told;

	stream_begin(2);
	packet_begin(100, 0);
	for (uint32_t i = 0; i < 9000; i++) {
		put_event(101, 100), put8(255), put64(257ull * i), put8(1);
		put_hit(3, 255);
		made.next_id++;
	}
	packet_end();
	read_in(&told, sizeof(made.bytes), true);
	CHECK(told.totals.damages <= 1);
}

int main(void)
{
	CHECK_RUN(test_events);
	CHECK_RUN(test_info);
	CHECK_RUN(test_names);
	CHECK_RUN(test_empty_names);
	CHECK_RUN(test_damage_text);
	CHECK_RUN(test_bad_names);
	CHECK_RUN(test_truncated);
	CHECK_RUN(test_check);
	CHECK_RUN(test_clock);
	CHECK_RUN(test_long_time);
	CHECK_RUN(test_domains);
	CHECK_RUN(test_many_domains);
	CHECK_RUN(test_garbage);
	CHECK_RUN(test_bad_event);
	CHECK_RUN(test_names_behind_bad_event);
	CHECK_RUN(test_ids);
	CHECK_RUN(test_cut);
	CHECK_RUN(test_others);
	CHECK_RUN(test_no_info);
	CHECK_RUN(test_without_stacks);
	CHECK_RUN(test_deep);
	return check_done();
}
