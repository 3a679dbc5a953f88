/*
 * Events as text and as JSON.
 *
 * Why it exists: the strings of a trace are a guest's, and go to terminals and to other programs' parsers.  This is the one
 * place where they become safe to print.
 *
 * Printable is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF) but for
 *   - the controls U+0000 to U+001F and U+007F to U+009F,
 *   - the line and paragraph separators U+2028 and U+2029,
 *   - the marks and controls of direction U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069,
 *   - the byte order mark U+FEFF, and the noncharacters U+FDD0 to U+FDEF and U+xxFFFE, U+xxFFFF.
 * These can move the cursor, start a new line, or make a line read as something else than it is.
 */
#include <string.h>

#include <mprof/trace.h>

static const char hex[] = "0123456789abcdef";

/* How each event is written: keys and order are those of the original viewer's loader, which others parse. */
struct form {
	const char *context; /* key of the context thread, NULL = none */
	const char *number;  /* key of the payload's number, NULL = none */
	const char *text;    /* key of the string, NULL = none */
	bool number_first;
};

static const struct form forms[MPROF_EVENT_IDS] = {
	[MPROF_EVENT_creates] = {"parent", "child", NULL, false},
	[MPROF_EVENT_read] = {"reader", "source", NULL, false},
	[MPROF_EVENT_fulfills] = {"resolver", "resolvee", NULL, false},
	[MPROF_EVENT_fails] = {"resolver", "resolvee", "exn", false},
	[MPROF_EVENT_becomes] = {"thread", "main", NULL, false},
	[MPROF_EVENT_label] = {"thread", NULL, "label", false},
	[MPROF_EVENT_increase] = {"thread", "amount", "counter", false},
	[MPROF_EVENT_switch] = {"thread", NULL, NULL, false},
	[MPROF_EVENT_gc] = {NULL, "duration", NULL, false},
	[MPROF_EVENT_signal] = {"receiver", "sender", NULL, true},
	[MPROF_EVENT_try_read] = {"reader", "source", NULL, false},
	[MPROF_EVENT_counter] = {"thread", "value", "counter", false},
	[MPROF_EVENT_read_later] = {"reader", "source", NULL, false},
	[MPROF_EVENT_signal_noswitch] = {"receiver", "sender", NULL, true},
};

static char *put_text(char *out, const char *s)
{
	size_t n = strlen(s);

	memcpy(out, s, n);
	return out + n;
}

static char *put_unsigned(char *out, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*out++ = digits[--n];
	return out;
}

static char *put_signed(char *out, int64_t v)
{
	if (v < 0)
		*out++ = '-';
	return put_unsigned(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Nanoseconds as seconds with nine decimals. */
static char *put_seconds(char *out, uint64_t ns)
{
	uint32_t fraction = (uint32_t)(ns % 1000000000);
	int i;

	out = put_unsigned(out, ns / 1000000000);
	*out = '.';
	for (i = 9; i > 0; i--) {
		out[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	return out + 10;
}

static char *put_key(char *out, const char *key, bool json)
{
	out = put_text(out, json ? ",\"" : " ");
	out = put_text(out, key);
	return put_text(out, json ? "\":" : "=");
}

static char *put_number(char *out, const struct mprof_raw_event *e, bool json)
{
	const struct form *form = &forms[e->id];

	if (!form->number)
		return out;
	if (e->id != MPROF_EVENT_gc)
		return put_signed(put_key(out, form->number, json), e->number);
	if (json) {
		out = put_unsigned(put_text(out, ",\"duration_ns\":\""), (uint64_t)e->number);
		return put_text(out, "\"");
	}
	return put_seconds(put_key(out, form->number, false), (uint64_t)e->number);
}

static char *put_fields(char *out, const struct mprof_raw_event *e, bool json)
{
	const struct form *form = &forms[e->id];

	if (form->number_first)
		out = put_number(out, e, json);
	if (form->context)
		out = put_signed(put_key(out, form->context, json), e->context);
	if (!form->number_first)
		out = put_number(out, e, json);
	if (e->id == MPROF_EVENT_creates) {
		out = put_text(put_key(out, "type", json), json ? "\"" : "");
		out = put_text(out, mprof_thread_type_name(e->type));
		out = put_text(out, json ? "\"" : "");
	}
	if (form->text)
		out = put_text(put_key(out, form->text, json), "\"");
	return out;
}

size_t mprof_event_text(const struct mprof_raw_event *e, char *line)
{
	char *out = put_seconds(line, e->timestamp);

	*out++ = ' ';
	out = put_text(out, mprof_event_name(e->id));
	return (size_t)(put_fields(out, e, false) - line);
}

size_t mprof_event_json(const struct mprof_raw_event *e, char *line)
{
	char *out = put_unsigned(put_text(line, "{\"time_ns\":\""), e->timestamp);

	out = put_text(out, "\",\"event\":\"");
	out = put_text(out, mprof_event_name(e->id));
	out = put_fields(put_text(out, "\""), e, true);
	if (!forms[e->id].text)
		*out++ = '}';
	return (size_t)(out - line);
}

const char *mprof_event_text_key(const struct mprof_raw_event *e)
{
	return e->id < MPROF_EVENT_IDS ? forms[e->id].text : NULL;
}

/* The well-formed UTF-8 character at P of LEFT bytes: its length, or 0.  The ranges are those of the Unicode Standard's table 3-7. */
static size_t utf8_load(const uint8_t *p, size_t left, uint32_t *c)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n, i;

	*c = p[0];
	if (p[0] < 0x80)
		return 1;
	n = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	if (!n || left < n)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	*c = p[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if (p[i] < low || p[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
		*c = *c << 6 | (p[i] & 0x3fu);
	}
	return n;
}

static bool printable(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
		return false;
	if (c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return false;
	return c != 0xfeff && !(c >= 0xfdd0 && c <= 0xfdef) && (c & 0xfffe) != 0xfffe;
}

/* How many bytes at P, at most LEN, are plain ASCII that no escaping touches. */
static size_t plain_run(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

static char *put_bytes_escaped(char *out, const uint8_t *p, size_t n)
{
	for (; n; n--, p++) {
		*out++ = '\\';
		*out++ = 'x';
		*out++ = hex[*p >> 4];
		*out++ = hex[*p & 15];
	}
	return out;
}

static char *put_utf16_escaped(char *out, uint32_t c)
{
	int shift;

	if (c > 0xffff) {
		out = put_utf16_escaped(out, 0xd800 + ((c - 0x10000) >> 10));
		c = 0xdc00 + ((c - 0x10000) & 0x3ff);
	}
	*out++ = '\\';
	*out++ = 'u';
	for (shift = 12; shift >= 0; shift -= 4)
		*out++ = hex[c >> shift & 15];
	return out;
}

/* One character that is not plain; at most 16 bytes. */
static char *put_character(char *out, const uint8_t *p, size_t n, uint32_t c, bool json)
{
	if (n && printable(c)) {
		if (c == '"' || c == '\\')
			*out++ = '\\';
		memcpy(out, p, n);
		return out + n;
	}
	if (!json)
		return put_bytes_escaped(out, p, n ? n : 1);
	return n ? put_utf16_escaped(out, c) : put_text(out, "\xef\xbf\xbd");
}

static size_t escape(char *out, size_t room, const char **text, size_t *left, bool json)
{
	const uint8_t *p = (const uint8_t *)*text;
	char *start = out, *end = out + room;

	while (*left && end - out >= 16) {
		size_t room_left = (size_t)(end - out), n;
		uint32_t c = 0;

		n = plain_run(p, *left < room_left ? *left : room_left);
		if (n) {
			memcpy(out, p, n);
			out += n;
		} else {
			n = utf8_load(p, *left, &c);
			out = put_character(out, p, n, c, json);
			n = n ? n : 1;
		}
		p += n;
		*left -= n;
	}
	*text = (const char *)p;
	return (size_t)(out - start);
}

size_t mprof_text_escape(char *out, size_t room, const char **text, size_t *left)
{
	return escape(out, room, text, left, false);
}

size_t mprof_text_json(char *out, size_t room, const char **text, size_t *left)
{
	return escape(out, room, text, left, true);
}

bool mprof_text_is_utf8(const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	uint32_t c;
	size_t n;

	for (; len; p += n, len -= n) {
		n = utf8_load(p, len, &c);
		if (!n)
			return false;
	}
	return true;
}
