/*
 * Events as text and as JSON, without their strings (text.c).
 *
 * Printing is most of the cost of a dump. So the constant parts of each kind of event are copied in
 * one piece of a fixed size, and numbers are written two digits at a time.
 *
 * Invariant: a piece is copied whole, with its unused end, which overwrites up to PIECE bytes after
 * the line. The longest line and a piece together are shorter than MPROF_TEXT_FIXED_MAX.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/trace.h>

#include "digits.h"

#define PIECE 48u

struct piece {
	char bytes[PIECE - 1];
	uint8_t n;
};

#define PUT(there, literal) {.bytes = literal, .n = (there) ? sizeof(literal) - 1 : 0}

/*
 * Keys and order are those that the original viewer reads; other programs parse them, too. Columns:
 * name; key of the first number; key of the second number ("" without one); true if the first
 * number is the event's field `number` and the second one `context`, else the other way round; key
 * of the string ("" without one). A gc only has a duration and is handled separately.
 */
#define EVENTS(X)                                         \
	X(creates, "parent", "child", false, "")          \
	X(read, "reader", "source", false, "")            \
	X(fulfills, "resolver", "resolvee", false, "")    \
	X(fails, "resolver", "resolvee", false, "exn")    \
	X(becomes, "thread", "main", false, "")           \
	X(label, "thread", "", false, "label")            \
	X(increase, "thread", "amount", false, "counter") \
	X(switch, "thread", "", false, "")                \
	X(signal, "sender", "receiver", true, "")         \
	X(try_read, "reader", "source", false, "")        \
	X(counter, "thread", "value", false, "counter")   \
	X(read_later, "reader", "source", false, "")      \
	X(signal_noswitch, "sender", "receiver", true, "")

/* The parts of an event's line after its time: HEAD, a number, NEXT, a number, TAIL. */
struct form {
	struct piece head, next, tail;
	bool payload_first;
};

#define HAS(key) (sizeof(key) > 1)
#define TEXT_FORM(name, first, second, payload, string)                     \
	[MPROF_EVENT_##name] = {.head = PUT(true, " " #name " " first "="), \
				.next = PUT(HAS(second), " " second "="),   \
				.tail = PUT(HAS(string), " " string "=\""), \
				.payload_first = (payload)},
#define JSON_FORM(name, first, second, payload, string)                                         \
	[MPROF_EVENT_##name] = {.head = PUT(true, "\",\"event\":\"" #name "\",\"" first "\":"), \
				.next = PUT(HAS(second), ",\"" second "\":"),                   \
				.tail = PUT(HAS(string), ",\"" string "\":\""),                 \
				.payload_first = (payload)},
#define TEXT_KEY(name, first, second, payload, string) [MPROF_EVENT_##name] = HAS(string) ? (string) : NULL,

static const struct form text_forms[MPROF_EVENT_IDS] = {EVENTS(TEXT_FORM)};
static const struct form json_forms[MPROF_EVENT_IDS] = {EVENTS(JSON_FORM)};
static const char *const text_keys[MPROF_EVENT_IDS] = {EVENTS(TEXT_KEY)[MPROF_EVENT_extra] = "name"};

static inline char *put(char *out, const struct piece *piece)
{
	memcpy(out, piece->bytes, sizeof(piece->bytes));
	return out + piece->n;
}

static inline char *put_unsigned(char *out, uint64_t v)
{
	return out + digits_put(out, v);
}

static inline char *put_signed(char *out, int64_t v)
{
	return out + digits_put_signed(out, v);
}

/* Write nanoseconds as seconds with nine decimals. */
static inline char *put_seconds(char *out, uint64_t ns)
{
	uint32_t fraction = (uint32_t)(ns % 1000000000);

	out = put_unsigned(out, ns / 1000000000);
	out[0] = '.';
	out[1] = (char)('0' + fraction / 100000000);
	digits_put_pair(out + 2, fraction / 1000000 % 100);
	digits_put_pair(out + 4, fraction / 10000 % 100);
	digits_put_pair(out + 6, fraction / 100 % 100);
	digits_put_pair(out + 8, fraction % 100);
	return out + 10;
}

static char *put_text(char *out, const char *s)
{
	size_t n = strlen(s);

	memcpy(out, s, n);
	return out + n;
}

/* Write everything after the time of an event other than gc, up to its string. Return the end. */
static inline char *put_fields(char *out, const struct mprof_raw_event *e, const struct form *form)
{
	out = put_signed(put(out, &form->head), form->payload_first ? e->number : e->context);
	if (form->next.n)
		out = put_signed(put(out, &form->next), form->payload_first ? e->context : e->number);
	return put(out, &form->tail);
}

/* Write the fields of a recorder's declaration, from the event's name on. JSON: as members of an object. */
static char *put_recorder(char *out, const struct mprof_raw_event *e, bool json)
{
	uint32_t all = (uint32_t)e->number;
	bool ordered = (all >> 16 & MPROF_DECLARES_ORDER) != 0;

	out = put_text(out, json ? "\",\"event\":\"recorder\",\"dialect\":" : " recorder dialect=");
	out = put_text(put_unsigned(out, all & UINT8_MAX), json ? ",\"version\":" : " version=");
	out = put_text(put_unsigned(out, all >> 8 & UINT8_MAX), json ? ",\"ordered_stores\":" : " ordered_stores=");
	if (json)
		return put_text(out, ordered ? "true}" : "false}");
	return put_text(out, ordered ? "yes" : "no");
}

/* Write the fields of a thread's state, from the event's name up to the opening quote of its string. */
static char *put_state(char *out, const struct mprof_raw_event *e, bool json)
{
	out = put_signed(put_text(out, json ? "\",\"event\":\"state\",\"thread\":" : " state thread="), e->context);
	if (json)
		return put_text(put_unsigned(put_text(out, ",\"processor_ns\":\""), (uint64_t)e->number),
				"\",\"state\":\"");
	return put_text(put_seconds(put_text(out, " processor="), (uint64_t)e->number), " state=\"");
}

size_t mprof_event_text(const struct mprof_raw_event *e, char *line)
{
	char *out = put_seconds(line, e->timestamp);

	if (mprof_event_is_recorder(e)) {
		out = put_recorder(out, e, false);
	} else if (mprof_event_is_state(e)) {
		out = put_state(out, e, false);
	} else if (e->id == MPROF_EVENT_gc) {
		out = put_seconds(put_text(out, " gc duration="), (uint64_t)e->number);
	} else if (e->id == MPROF_EVENT_extra) {
		out = put_signed(put_text(out, " duration thread="), e->context);
		out = put_text(put_seconds(put_text(out, " duration="), (uint64_t)e->number), " name=\"");
	} else
		out = put_fields(out, e, &text_forms[e->id]);
	if (e->id == MPROF_EVENT_creates)
		out = put_text(put_text(out, " type="), mprof_thread_type_name(e->type));
	return (size_t)(out - line);
}

size_t mprof_event_json(const struct mprof_raw_event *e, char *line)
{
	char *out = put_unsigned(put_text(line, "{\"time_ns\":\""), e->timestamp);

	if (mprof_event_is_recorder(e))
		return (size_t)(put_recorder(out, e, true) - line);
	if (mprof_event_is_state(e))
		return (size_t)(put_state(out, e, true) - line);
	if (e->id == MPROF_EVENT_gc) {
		out = put_unsigned(put_text(out, "\",\"event\":\"gc\",\"duration_ns\":\""), (uint64_t)e->number);
		return (size_t)(put_text(out, "\"}") - line);
	}
	if (e->id == MPROF_EVENT_extra) {
		out = put_signed(put_text(out, "\",\"event\":\"duration\",\"thread\":"), e->context);
		out = put_unsigned(put_text(out, ",\"duration_ns\":\""), (uint64_t)e->number);
		return (size_t)(put_text(out, "\",\"name\":\"") - line);
	}
	out = put_fields(out, e, &json_forms[e->id]);
	if (e->id == MPROF_EVENT_creates)
		out = put_text(put_text(put_text(out, ",\"type\":\""), mprof_thread_type_name(e->type)), "\"");
	if (!json_forms[e->id].tail.n)
		*out++ = '}';
	return (size_t)(out - line);
}

const char *mprof_event_text_key(const struct mprof_raw_event *e)
{
	if (mprof_event_is_state(e))
		return "state";
	return e->id < MPROF_EVENT_IDS ? text_keys[e->id] : NULL;
}

/* ---- damage ---- */

static size_t clamp(int n, size_t size)
{
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}

static void reason_text(const struct mprof_damage *damage, char *buf, size_t size)
{
	switch (damage->reason) {
	case MPROF_DAMAGE_HEADER:
		snprintf(buf, size, "no packet header: %s", mprof_packet_status_text(damage->header));
		break;
	case MPROF_DAMAGE_UNKNOWN_ID:
		snprintf(buf, size, "unknown event id %u", damage->id);
		break;
	case MPROF_DAMAGE_CUT_EVENT:
		snprintf(buf, size, "the packet's content ends inside an event");
		break;
	case MPROF_DAMAGE_LONG_EVENT:
		snprintf(buf, size, "an event longer than %u bytes", MPROF_EVENT_BYTES_MAX);
		break;
	case MPROF_DAMAGE_CUT_INPUT:
		snprintf(buf, size, "the input ends inside the packet");
		break;
	case MPROF_DAMAGE_TIME:
		snprintf(buf, size, "the event's time contradicts those of its neighbours");
		break;
	case MPROF_DAMAGE_LINE:
		snprintf(buf, size, "not an event");
		break;
	}
}

size_t mprof_damage_text(const struct mprof_damage *damage, char *buf, size_t size)
{
	char reason[80] = "unknown", count[24] = "", unproven[80] = "";
	int n;

	if (damage->reason == MPROF_DAMAGE_LINE) {
		n = snprintf(buf, size, "line %" PRIu64 " at byte %" PRIu64 ": not an event; %" PRIu64 " bytes skipped",
			     damage->packet + 1, damage->offset, damage->skipped);
		return clamp(n, size);
	}
	reason_text(damage, reason, sizeof(reason));
	if (damage->counted)
		snprintf(count, sizeof(count), " (count %u)", damage->count);
	if (damage->unproven)
		snprintf(unproven, sizeof(unproven), "; the %" PRIu64 " events behind, to its end, are unproven",
			 damage->unproven);
	n = snprintf(buf, size,
		     "packet %" PRIu64 "%s at byte %" PRIu64 ": %s at byte %" PRIu64 "; %" PRIu64 " bytes skipped%s",
		     damage->packet, count, damage->packet_offset, reason, damage->offset, damage->skipped, unproven);
	return clamp(n, size);
}
