/*
 * Encoder of memtrace streams. One packet of events, of one domain, is open at a time. The location
 * events for its codes are collected in a second packet, which is written before the packet of
 * events.
 */
#include "mem-encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>

#include "grow.h"
#include "mem-encode-stack.h"

#define PACKET_BYTES 32768u
#define HEAD_MAX     68u
#define CLOCK_BITS   25
#define SPAN_US	     30000000u
#define NEW_CODES    128u
/* Largest event, and largest location event of a code, bytes. */
#define EVENT_MAX    (MEM_ENCODE_WORDS_MAX + 64u)
#define LOCATION_MAX 4096u
#define NO_CHECK     0xffffu
#define PROBE_FIRST  4242u
#define PROBE_STEP   5413u

enum { ID_INFO, ID_LOCATION, ID_ALLOC, ID_PROMOTE, ID_COLLECT, ID_SHORT = 100 };

/*
 * Codes that no program has: they stand for the missing frames of a cut stack, and for an unknown
 * stack.
 */
#define CODE_TRUNCATED 0x3ffffffffffffff1u
#define CODE_UNKNOWN   0x3ffffffffffffff2u

/*
 * Numbers of names from here on are no strings of the callbacks: NAME_NONE is the empty name, the
 * following two are those of the special codes.
 */
#define NAME_NONE (UINT32_MAX - 3)

struct packet {
	uint8_t bytes[PACKET_BYTES];
	size_t n; /* bytes used; 0: the packet is not open */
};

struct mem_encoder {
	struct mem_encoder_ops ops;
	uint16_t version;
	int64_t pid;
	uint64_t next_id;
	struct packet events, names;
	uint64_t begin_us, last_us; /* time range of the packet EVENTS, microseconds */
	uint32_t new_codes;	    /* number of codes whose names were written since the packet in EVENTS began */
	struct mem_encode_domain *domain;
	struct mem_encode_domain *domains[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_domains;
	struct grow named; /* uint8_t for each code: 1 if its name was written; the two special codes come first */
	struct mem_encode_words words;
};

const struct mprof_mem_code *mem_encoder_code(void *d, uint32_t i)
{
	return mprof_mem_code(d, i);
}

const struct mprof_mem_location *mem_encoder_location(void *d, uint32_t i)
{
	return mprof_mem_location(d, i);
}

const char *mem_encoder_string(void *d, uint32_t i, size_t *bytes)
{
	return mprof_mem_string(d, i, bytes);
}

/* ---- bytes ---- */

static void put(struct packet *p, const void *bytes, size_t n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

static void put8(struct packet *p, uint8_t v)
{
	p->bytes[p->n++] = v;
}

static void put16(struct packet *p, uint16_t v)
{
	mprof_store16(p->bytes + p->n, v);
	p->n += 2;
}

static void put32(struct packet *p, uint32_t v)
{
	mprof_store32(p->bytes + p->n, v);
	p->n += 4;
}

static void put64(struct packet *p, uint64_t v)
{
	mprof_store64(p->bytes + p->n, v);
	p->n += 8;
}

/* Append V as the variable-length integer that mem_vint() reads. */
static void put_vint(struct packet *p, uint64_t v)
{
	if (v < 253) {
		put8(p, (uint8_t)v);
	} else if (v <= UINT16_MAX) {
		put8(p, 253);
		put16(p, (uint16_t)v);
	} else if (v <= INT32_MAX) {
		put8(p, 254);
		put32(p, (uint32_t)v);
	} else {
		put8(p, 255);
		put64(p, v);
	}
}

static void put_event(struct packet *p, uint32_t id, uint64_t time_us)
{
	put32(p, id << CLOCK_BITS | (uint32_t)(time_us & ((1u << CLOCK_BITS) - 1)));
}

/* ---- packets ---- */

static size_t head_bytes(const struct mem_encoder *e)
{
	return e->version < 3 ? 66 : HEAD_MAX;
}

static void packet_begin(const struct mem_encoder *e, struct packet *p, uint16_t domain, uint64_t begin_us)
{
	uint8_t *head = p->bytes, *rest = head + head_bytes(e) - 28;

	memset(head, 0, HEAD_MAX);
	mprof_store32(head, 0xc1fc1fc1);
	mprof_store64(head + 8, begin_us);
	mprof_store16(head + 28, e->version);
	mprof_store64(head + 30, (uint64_t)e->pid);
	if (e->version == 3)
		mprof_store16(head + 38, domain);
	mprof_store16(rest, NO_CHECK);
	mprof_store64(rest + 12, e->next_id);
	p->n = head_bytes(e);
}

static int packet_put(struct mem_encoder *e, struct packet *p, uint64_t end_us, uint64_t end_id)
{
	size_t n = p->n;

	if (!n)
		return 0;
	mprof_store32(p->bytes + 4, (uint32_t)n * 8);
	mprof_store64(p->bytes + 16, end_us);
	mprof_store64(p->bytes + head_bytes(e) - 8, end_id);
	p->n = 0;
	return e->ops.put(e->ops.context, p->bytes, n);
}

/*
 * Write the packet of location events. It has the begin time of the packet of events that uses
 * them, and no ids.
 */
static int names_put(struct mem_encoder *e)
{
	uint64_t id = e->names.n ? mprof_load64(e->names.bytes + head_bytes(e) - 16) : 0;

	return packet_put(e, &e->names, e->begin_us, id);
}

int mem_encoder_flush(struct mem_encoder *e)
{
	int r = names_put(e);

	e->new_codes = 0;
	return r ? r : packet_put(e, &e->events, e->last_us, e->next_id);
}

/* Return the id of the first alloc of the open packet. */
static uint64_t first_id(const struct mem_encoder *e)
{
	return mprof_load64(e->events.bytes + head_bytes(e) - 16);
}

static uint64_t code_value(const void *context, uint32_t i)
{
	const struct mem_encoder *e = context;

	if (i >= MPROF_CODE_UNKNOWN)
		return i == MPROF_CODE_TRUNCATED ? CODE_TRUNCATED : CODE_UNKNOWN;
	return e->ops.code(e->ops.names, i)->code;
}

/*
 * Write the content of one bucket into the packet's header. A reader whose bucket has another
 * content has lost bytes.
 */
static void check_put(struct mem_encoder *e)
{
	struct mem_encode_domain *d = e->domain;
	uint8_t *rest = e->events.bytes + head_bytes(e) - 28;
	uint32_t bucket;

	if (!d->begun) {
		d->begun = true;
		return;
	}
	bucket = (PROBE_FIRST + PROBE_STEP * d->probes++) % MEM_BUCKETS;
	mprof_store16(rest, (uint16_t)bucket);
	mprof_store16(rest + 2, d->next[bucket]);
	mprof_store64(rest + 4, d->codes[bucket] ? code_value(e, d->codes[bucket] - 1) : 0);
}

static int domain_find(struct mem_encoder *e, uint16_t number)
{
	for (uint32_t i = 0; i < e->n_domains; i++) {
		e->domain = e->domains[i];
		if (e->domain->number == number)
			return 0;
	}
	/*
	 * A decoder knows no more domains: write the events of further domains into the last one.
	 */
	if (e->n_domains == MPROF_MEM_DOMAINS_MAX)
		return 0;
	e->domain = mem_encode_domain_new(number);
	if (!e->domain)
		return -ENOMEM;
	e->domains[e->n_domains++] = e->domain;
	return 0;
}

/*
 * Make sure that a packet is open with room for an event of DOMAIN at TIME_US. Return 0 or -errno.
 */
static int packet_ready(struct mem_encoder *e, uint16_t domain, uint64_t time_us)
{
	int r = 0;

	if (e->version < 3)
		domain = 0;
	if (e->events.n && (e->domain->number != domain || e->events.n + EVENT_MAX > PACKET_BYTES ||
			    e->new_codes > NEW_CODES || time_us < e->last_us || time_us - e->begin_us > SPAN_US))
		r = mem_encoder_flush(e);
	if (!r && !e->events.n) {
		r = domain_find(e, domain);
		if (r)
			return r;
		packet_begin(e, &e->events, e->domain->number, time_us);
		check_put(e);
		e->begin_us = time_us;
	}
	e->last_us = time_us;
	return r;
}

/* ---- what codes mean ---- */

static const char *name_of(const struct mem_encoder *e, uint32_t i, size_t *bytes)
{
	const char *text = i == MPROF_CODE_TRUNCATED ? "(truncated stack)"
			   : i == MPROF_CODE_UNKNOWN ? "(unknown stack)"
						     : "";

	if (i < NAME_NONE)
		return e->ops.string(e->ops.names, i, bytes);
	*bytes = strlen(text);
	return text;
}

/* Return the location of CODE, one of the two special codes. */
static struct mprof_mem_location location_of(uint32_t code)
{
	return (struct mprof_mem_location){.file = NAME_NONE, .function = code, .line = 1, .first = 1, .last = 1};
}

static void put_name(struct mem_encoder *e, uint32_t i)
{
	size_t bytes;
	const char *text = name_of(e, i, &bytes);

	put(&e->names, text, bytes);
	put8(&e->names, 0);
}

static int put_location(struct mem_encoder *e, const struct mprof_mem_location *l)
{
	struct mem_names *names = &e->domain->names;
	int file = mem_encode_file(names, l->file);
	uint64_t word;
	uint32_t function;

	if (file < 0)
		return file;
	function = mem_encode_function(names, l->function);
	word = (uint64_t)l->line | (uint64_t)l->first << 20 | (uint64_t)l->last << 28 | (uint64_t)file << 38 |
	       (uint64_t)function << 43;
	put32(&e->names, (uint32_t)word);
	put16(&e->names, (uint16_t)(word >> 32));
	if (file == 31)
		put_name(e, l->file);
	if (function == 31)
		put_name(e, l->function);
	return 0;
}

/*
 * Return the number of locations of code I, and store the first one in *FIRST. Return 0 when the
 * locations would need too many bytes.
 */
static uint32_t locations_of(const struct mem_encoder *e, uint32_t i, uint32_t *first)
{
	const struct mprof_mem_code *code = e->ops.code(e->ops.names, i);
	size_t all = 16, file, function;

	*first = code->first_location;
	for (uint32_t k = 0; k < code->locations; k++) {
		const struct mprof_mem_location *l = e->ops.location(e->ops.names, *first + k);

		name_of(e, l->file, &file);
		name_of(e, l->function, &function);
		all += 8 + file + function;
		if (all > LOCATION_MAX)
			return 0;
	}
	return code->locations;
}

static int code_tell(struct mem_encoder *e, uint32_t i)
{
	bool none = i >= MPROF_CODE_UNKNOWN;
	struct mprof_mem_location own = location_of(i);
	uint32_t first = 0, n = none ? 1 : locations_of(e, i, &first);
	int r = 0;

	if (e->names.n + LOCATION_MAX > PACKET_BYTES)
		r = names_put(e);
	if (r)
		return r;
	if (!e->names.n) {
		packet_begin(e, &e->names, e->domain->number, e->begin_us);
		mprof_store64(e->names.bytes + head_bytes(e) - 16, first_id(e));
	}
	put_event(&e->names, ID_LOCATION, e->begin_us);
	put64(&e->names, code_value(e, i));
	put8(&e->names, (uint8_t)n);
	for (uint32_t k = 0; !r && k < n; k++)
		r = put_location(e, none ? &own : e->ops.location(e->ops.names, first + k));
	e->new_codes++;
	return r;
}

/*
 * Append the location event of code I, unless the code was explained already. Return 0 or -errno.
 */
static int code_use(struct mem_encoder *e, uint32_t i)
{
	uint32_t at = i >= MPROF_CODE_UNKNOWN ? i - MPROF_CODE_UNKNOWN : i + 2, room = e->named.n;
	uint8_t *named;

	if (at >= room) {
		if (!grow_reserve(&e->named, 1, at + 1 - room))
			return -ENOMEM;
		memset((uint8_t *)e->named.items + room, 0, at + 1 - room);
		e->named.n = at + 1;
	}
	named = (uint8_t *)e->named.items + at;
	if (*named)
		return 0;
	*named = 1;
	return code_tell(e, i);
}

/* ---- events ---- */

static void put_alloc(struct mem_encoder *e, const struct mprof_mem_event *event)
{
	struct packet *p = &e->events;
	bool brief = event->samples == 1 && event->source == MPROF_MEM_MINOR && event->length >= 1 &&
		     event->length <= 16 && e->words.n < 256;

	put_event(p, brief ? ID_SHORT + (uint32_t)event->length : ID_ALLOC, event->time_us);
	if (!brief) {
		put_vint(p, event->length);
		put_vint(p, event->samples);
		put8(p, event->source);
	}
	put_vint(p, e->words.prefix);
	if (brief)
		put8(p, (uint8_t)e->words.n);
	else
		put16(p, (uint16_t)e->words.n);
	put(p, e->words.bytes, e->words.n_bytes);
	e->next_id++;
}

static int add_alloc(struct mem_encoder *e, const struct mprof_mem_event *event)
{
	uint32_t last = event->flags & MPROF_MEM_TRUNCATED  ? MPROF_CODE_TRUNCATED
			: event->flags & MPROF_MEM_NO_STACK ? MPROF_CODE_UNKNOWN
							    : MPROF_NONE;
	uint32_t n = event->flags & MPROF_MEM_NO_STACK ? 0 : event->frames;
	int r = mem_encode_stack(e->domain, event->stack, n, last, code_value, e, &e->words);

	/* The frames shared with the previous stack were explained before. */
	for (uint32_t i = e->words.prefix; !r && i < e->domain->n; i++)
		r = code_use(e, e->domain->frames[i]);
	if (!r)
		put_alloc(e, event);
	return r;
}

int mem_encoder_add(struct mem_encoder *e, const struct mprof_mem_event *event)
{
	int r;

	if (event->kind == MPROF_MEM_BEGIN)
		return -EINVAL;
	r = packet_ready(e, event->domain, event->time_us);
	if (r)
		return r;
	if (event->kind == MPROF_MEM_ALLOC)
		return add_alloc(e, event);
	put_event(&e->events, event->kind == MPROF_MEM_PROMOTE ? ID_PROMOTE : ID_COLLECT, event->time_us);
	put_vint(&e->events, e->next_id - 1 - (uint64_t)event->id);
	return 0;
}

int64_t mem_encoder_next_id(const struct mem_encoder *e)
{
	return (int64_t)e->next_id;
}

/* ---- the beginning ---- */

static void put_text(struct packet *p, const char *text)
{
	/* Cut a text that would not fit a packet. */
	size_t n = strnlen(text, LOCATION_MAX);

	put(p, text, n);
	put8(p, 0);
}

static int put_info(struct mem_encoder *e, const struct mprof_mem_info *info)
{
	struct packet *p = &e->events;
	uint64_t rate;

	memcpy(&rate, &info->rate, sizeof(rate));
	packet_begin(e, p, 0, info->start_us);
	put_event(p, ID_INFO, info->start_us);
	put64(p, rate);
	put8(p, (uint8_t)(info->word_bytes * 8));
	put_text(p, info->program);
	put_text(p, info->host);
	put_text(p, info->parameters);
	put64(p, (uint64_t)info->pid);
	put_text(p, info->context);
	return packet_put(e, p, info->start_us, 0);
}

struct mem_encoder *mem_encoder_new(const struct mprof_mem_info *info, const struct mem_encoder_ops *ops)
{
	struct mem_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ops = *ops;
	e->version = info->version < 3 ? 2 : 3;
	e->pid = info->pid;
	return put_info(e, info) ? mem_encoder_free(e) : e;
}

struct mem_encoder *mem_encoder_free(struct mem_encoder *e)
{
	if (!e)
		return NULL;
	for (uint32_t i = 0; i < e->n_domains; i++)
		mem_encode_domain_free(e->domains[i]);
	grow_deinit(&e->named);
	free(e);
	return NULL;
}
