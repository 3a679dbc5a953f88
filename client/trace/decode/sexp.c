/*
 * The logs that the recorder of 2014 wrote: one event per line, as an s-expression.
 *
 *    ((time 8249.521319)(op(Creates 0 1 Task)))
 *
 * Archives still have such logs, and no other program reads them.
 *
 * Invariants:
 * - A line is copied into the buffer LINE and parsed there. Escapes are resolved in place: the
 *   write position never passes the read position.
 * - LINE grows by the bytes received, up to LINE_MAX_BYTES. A longer line is skipped and is damage.
 * - A line that is no event is damage of that line only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#define LINE_MAX_BYTES (1u << 20)
#define ITEMS_MAX      4

struct mprof_sexp {
	const char *in;
	size_t left;
	char *line;
	size_t used, room;
	uint64_t offset; /* position of the line's first byte */
	uint64_t number; /* number of lines before it */
	uint64_t length; /* length of the line so far, bytes, also of bytes that are not kept */
	bool finished;
	struct mprof_damage damage;
};

/* An argument of an operation, a word or a list. TEXT points into the line. */
struct item {
	char *text;
	size_t len;
	bool list;
};

struct operation {
	struct item name;
	struct item items[ITEMS_MAX];
	size_t n;
};

struct cursor {
	char *p, *end;
};

struct mprof_sexp *mprof_sexp_new(void)
{
	return calloc(1, sizeof(struct mprof_sexp));
}

struct mprof_sexp *mprof_sexp_free(struct mprof_sexp *s)
{
	if (s)
		free(s->line);
	free(s);
	return NULL;
}

void mprof_sexp_feed(struct mprof_sexp *s, const void *bytes, size_t len)
{
	s->in = bytes;
	s->left = len;
}

void mprof_sexp_finish(struct mprof_sexp *s)
{
	s->finished = true;
}

const struct mprof_damage *mprof_sexp_damage(const struct mprof_sexp *s)
{
	return &s->damage;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool mprof_sexp_begins(const void *bytes, size_t len)
{
	const char *p = bytes;

	for (; len && is_space(*p); p++)
		len--;
	return len && *p == '(';
}

static void skip_space(struct cursor *c)
{
	while (c->p < c->end && is_space(*c->p))
		c->p++;
}

static bool take(struct cursor *c, char wanted)
{
	skip_space(c);
	if (c->p == c->end || *c->p != wanted)
		return false;
	c->p++;
	return true;
}

static int digit(char c, int base)
{
	int v = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : base;

	return v < base ? v : -1;
}

/*
 * Read the N digits of BASE of an escape into the byte *OUT. Return false when there are not N
 * digits, or their value is no byte.
 */
static bool take_code(struct cursor *c, int base, int n, char *out)
{
	int value = 0;

	if (c->end - c->p < n)
		return false;
	for (int i = 0; i < n; i++) {
		int d = digit(c->p[i], base);

		if (d < 0)
			return false;
		value = value * base + d;
	}
	c->p += n;
	*out = (char)value;
	return value < 256;
}

/*
 * Read the escape after a backslash; store the character that it means in *OUT. Return false for no
 * valid escape.
 */
static bool take_escape(struct cursor *c, char *out)
{
	static const char from[] = "ntrb", to[] = "\n\t\r\b";
	const char *simple;
	char which;

	if (c->p == c->end)
		return false;
	which = *c->p;
	if (digit(which, 10) >= 0)
		return take_code(c, 10, 3, out);
	c->p++;
	if (which == 'x')
		return take_code(c, 16, 2, out);
	simple = which ? strchr(from, which) : NULL;
	*out = simple ? to[simple - from] : which;
	return true;
}

static bool take_quoted(struct cursor *c, struct item *item)
{
	char *out = c->p;

	item->text = out;
	while (c->p < c->end && *c->p != '"') {
		char byte = *c->p++;

		if (byte == '\\' && !take_escape(c, &byte))
			return false;
		*out++ = byte;
	}
	item->len = (size_t)(out - item->text);
	return c->p++ < c->end;
}

/* Read a word, bare or quoted, into *ITEM. Return false when there is none. */
static bool take_word(struct cursor *c, struct item *item)
{
	if (take(c, '"'))
		return take_quoted(c, item);
	item->text = c->p;
	while (c->p < c->end && !is_space(*c->p) && *c->p != '(' && *c->p != ')' && *c->p != '"')
		c->p++;
	item->len = (size_t)(c->p - item->text);
	return item->len != 0;
}

/* Skip the rest of a quoted string, of which the opening quote was read, and the closing quote. */
static void skip_quoted(struct cursor *c)
{
	for (; c->p < c->end && *c->p != '"'; c->p++)
		c->p += *c->p == '\\' && c->end - c->p > 1;
	c->p += c->p < c->end;
}

/*
 * Read the rest of a list after its parenthesis: the content of a quoted string, or the text
 * between the parentheses.
 */
static bool take_list(struct cursor *c, struct item *item)
{
	size_t depth = 1;

	item->list = true;
	if (take(c, '"'))
		return take_quoted(c, item) && take(c, ')');
	item->text = c->p;
	while (c->p < c->end && depth) {
		char byte = *c->p++;

		depth += byte == '(';
		depth -= byte == ')';
		if (byte == '"')
			skip_quoted(c);
	}
	item->len = (size_t)(c->p - item->text) - !depth;
	return !depth;
}

/*
 * Read `NAME item…)`, an operation whose opening parenthesis was read. Return false when it is
 * invalid.
 */
static bool take_operation(struct cursor *c, struct operation *op)
{
	op->n = 0;
	if (!take_word(c, &op->name))
		return false;
	while (!take(c, ')')) {
		struct item *item = &op->items[op->n];

		if (op->n++ == ITEMS_MAX || c->p == c->end)
			return false;
		item->list = false;
		if (!(take(c, '(') ? take_list(c, item) : take_word(c, item)))
			return false;
	}
	return true;
}

static bool is_word(const struct item *item, const char *word)
{
	return item->len == strlen(word) && memcmp(item->text, word, item->len) == 0;
}

static bool to_number(const struct item *item, int64_t *out)
{
	char copy[24], *end;

	if (item->list || !item->len || item->len >= sizeof(copy) || is_space(item->text[0]))
		return false;
	memcpy(copy, item->text, item->len);
	copy[item->len] = 0;
	errno = 0;
	*out = strtoll(copy, &end, 10);
	return end == copy + item->len && !errno;
}

/* Convert seconds with an exponent, the form of short durations, to nanoseconds. */
static bool to_ns_float(const struct item *item, uint64_t *ns)
{
	char copy[64], *end;
	double seconds;

	if (item->len >= sizeof(copy) || memchr(item->text, 0, item->len))
		return false;
	memcpy(copy, item->text, item->len);
	copy[item->len] = 0;
	seconds = strtod(copy, &end);
	if (*end || !(seconds >= 0 && seconds < 18e9))
		return false;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

/*
 * Convert decimal seconds to nanoseconds, exact to the ninth decimal and rounded by the tenth.
 * Return false when ITEM is no such number.
 */
static bool to_ns(const struct item *item, uint64_t *ns)
{
	uint64_t seconds = 0, fraction = 0;
	size_t i, decimals = 0;

	for (i = 0; i < item->len && digit(item->text[i], 10) >= 0; i++)
		if (seconds <= 18000000000u)
			seconds = seconds * 10 + (uint64_t)digit(item->text[i], 10);
	if (!i || item->list || seconds > 18000000000u)
		return false;
	if (i < item->len && item->text[i] == '.') {
		for (i++; i < item->len && digit(item->text[i], 10) >= 0; i++, decimals++) {
			if (decimals < 9)
				fraction = fraction * 10 + (uint64_t)digit(item->text[i], 10);
			else if (decimals == 9)
				fraction += digit(item->text[i], 10) >= 5;
		}
	}
	if (i < item->len)
		return to_ns_float(item, ns);
	for (; decimals < 9; decimals++)
		fraction *= 10;
	*ns = seconds * 1000000000 + fraction;
	return true;
}

static uint8_t to_type(const struct item *item)
{
	for (unsigned int type = 0; type < MPROF_THREAD_TYPES; type++)
		if (is_word(item, mprof_thread_type_name((uint8_t)type)))
			return (uint8_t)type;
	return MPROF_THREAD_UNKNOWN;
}

/*
 * Store the first two arguments of OP, both threads, in the event *E with ID. Return false when
 * they are no numbers.
 */
static bool pair(const struct operation *op, struct mprof_raw_event *e, enum mprof_event_id id)
{
	e->id = (uint8_t)id;
	return op->n >= 2 && to_number(&op->items[0], &e->context) && to_number(&op->items[1], &e->number);
}

static void set_text(struct mprof_raw_event *e, const struct item *item)
{
	/*
	 * At least a parenthesis follows an item in the line, so the NUL overwrites nothing that is
	 * read later.
	 */
	item->text[item->len] = 0;
	e->text = item->text;
	e->text_bytes = item->len;
}

static bool to_resolves(const struct operation *op, struct mprof_raw_event *e)
{
	const struct item *exn = &op->items[2];

	if (op->n != 3 || !exn->list || !pair(op, e, MPROF_EVENT_fulfills))
		return false;
	if (exn->len) {
		e->id = MPROF_EVENT_fails;
		set_text(e, exn);
	}
	return true;
}

static bool to_increases(const struct operation *op, struct mprof_raw_event *e)
{
	e->id = MPROF_EVENT_increase;
	if (op->n != 3 || op->items[1].list || !to_number(&op->items[0], &e->context) ||
	    !to_number(&op->items[2], &e->number))
		return false;
	set_text(e, &op->items[1]);
	return true;
}

static bool to_event(const struct operation *op, struct mprof_raw_event *e)
{
	uint64_t ns;

	if (is_word(&op->name, "Creates")) {
		e->type = op->n == 3 ? to_type(&op->items[2]) : MPROF_THREAD_UNKNOWN;
		return op->n <= 3 && pair(op, e, MPROF_EVENT_creates);
	}
	if (is_word(&op->name, "Reads"))
		return op->n == 2 && pair(op, e, MPROF_EVENT_read);
	if (is_word(&op->name, "Becomes"))
		return op->n == 2 && pair(op, e, MPROF_EVENT_becomes);
	if (is_word(&op->name, "Resolves"))
		return to_resolves(op, e);
	if (is_word(&op->name, "Increases"))
		return to_increases(op, e);
	if (is_word(&op->name, "Gc")) {
		e->id = MPROF_EVENT_gc;
		if (op->n != 1 || !to_ns(&op->items[0], &ns))
			return false;
		e->number = (int64_t)ns;
		return true;
	}
	e->id = MPROF_EVENT_switch;
	if (is_word(&op->name, "Switch"))
		return op->n == 1 && to_number(&op->items[0], &e->context);
	e->id = MPROF_EVENT_label;
	if (!is_word(&op->name, "Label") || op->n != 2 || op->items[1].list || !to_number(&op->items[0], &e->context))
		return false;
	set_text(e, &op->items[1]);
	return true;
}

/* Read `(NAME`, the beginning of a list. Return false when something else is there. */
static bool take_named(struct cursor *c, const char *name)
{
	struct item word;

	return take(c, '(') && take_word(c, &word) && is_word(&word, name);
}

/*
 * Parse LINE of LEN bytes into *E, whose text points into LINE. Return false when the line is no
 * event.
 */
static bool parse(char *line, size_t len, struct mprof_raw_event *e)
{
	struct cursor c = {.p = line, .end = line + len};
	struct item time = {0};
	struct operation op;

	memset(e, 0, sizeof(*e));
	e->bytes = len;
	if (!take(&c, '(') || !take_named(&c, "time"))
		return false;
	skip_space(&c);
	if (!take_word(&c, &time) || !to_ns(&time, &e->timestamp) || !take(&c, ')'))
		return false;
	if (!take_named(&c, "op") || !take(&c, '(') || !take_operation(&c, &op))
		return false;
	if (!take(&c, ')'))
		return false;
	if (!take(&c, ')'))
		return false;
	skip_space(&c);
	return c.p == c.end && to_event(&op, e);
}

/*
 * Consume N fed bytes, which belong to the line, and append them to LINE unless the line is too
 * long. Return false without memory, with nothing consumed.
 */
static bool gather(struct mprof_sexp *s, size_t n)
{
	size_t room = s->room ? s->room : 256;
	char *grown;

	if (s->length + n <= LINE_MAX_BYTES) {
		while (room < s->used + n + 1)
			room *= 2;
		if (room > s->room) {
			grown = realloc(s->line, room);
			if (!grown)
				return false;
			s->line = grown;
			s->room = room;
		}
		if (n)
			memcpy(s->line + s->used, s->in, n);
		s->used += n;
	}
	s->length += n;
	if (n)
		s->in += n;
	s->left -= n;
	return true;
}

/*
 * Parse the complete line into *EVENT. Return MPROF_OK for an event, MPROF_CORRUPT for damage,
 * MPROF_MORE for a blank line.
 */
static enum mprof_status judge(struct mprof_sexp *s, struct mprof_event *event)
{
	uint64_t length = s->length;
	size_t blank = 0;

	event->offset = s->offset;
	while (length <= LINE_MAX_BYTES && blank < length && is_space(s->line[blank]))
		blank++;
	s->number++;
	s->offset += length;
	s->used = 0;
	s->length = 0;
	if (blank == length)
		return MPROF_MORE;
	if (length <= LINE_MAX_BYTES && parse(s->line, (size_t)length, &event->raw))
		return MPROF_OK;
	s->damage = (struct mprof_damage){
		.reason = MPROF_DAMAGE_LINE,
		.packet = s->number - 1,
		.packet_offset = event->offset,
		.offset = event->offset,
		.skipped = length,
	};
	return MPROF_CORRUPT;
}

enum mprof_status mprof_sexp_next(struct mprof_sexp *s, struct mprof_event *event)
{
	enum mprof_status status = MPROF_MORE;

	while (status == MPROF_MORE) {
		const char *end = s->left ? memchr(s->in, '\n', s->left) : NULL;

		if (!gather(s, end ? (size_t)(end - s->in) + 1 : s->left))
			return MPROF_NOMEM;
		if (!end && !s->finished)
			return MPROF_MORE;
		if (!end && !s->length)
			return MPROF_END;
		status = judge(s, event);
	}
	return status;
}
