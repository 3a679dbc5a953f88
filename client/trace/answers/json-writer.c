#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mprof/json-writer.h>

#define PIECE 512u

static void put(struct mprof_json *j, const char *text, size_t n)
{
	if (n)
		j->put(j->context, text, n);
}

static void put_line(struct mprof_json *j)
{
	static const char blanks[] = "                                ";

	put(j, "\n", 1);
	put(j, blanks, 2 * (size_t)(j->depth - j->rows));
}

/* Write what stands before a value: a comma, a new line and the key. */
static void begin(struct mprof_json *j, const char *key)
{
	if (j->depth) {
		if (j->filled)
			put(j, ",", 1);
		if (j->pretty || (j->rows && j->depth == 2))
			put_line(j);
		else if (j->rows && j->filled)
			put(j, " ", 1);
	}
	j->filled = true;
	if (!key)
		return;
	put(j, "\"", 1);
	put(j, key, strlen(key));
	put(j, "\": ", j->pretty || j->rows ? 3 : 2);
}

/* The keys whose times have a wall time, in the order in which an object ends with these. */
static const struct {
	const char *key, *wall;
} timed[] = {
	{"time_ns", "wall"},	    {"start_ns", "start_wall"},
	{"end_ns", "end_wall"},	    {"created_ns", "created_wall"},
	{"since_ns", "since_wall"}, {"from_ns", "from_wall"},
	{"to_ns", "to_wall"},	    {"first_ns", "first_wall"},
	{"last_ns", "last_wall"},   {"sleeping_from_ns", "sleeping_from_wall"},
};

_Static_assert(sizeof(timed) / sizeof(*timed) == MPROF_JSON_TIMES, "a key lacks its place");

static void put_walls(struct mprof_json *j)
{
	char text[MPROF_JSON_WALL_MAX];

	for (uint32_t i = 0; i < MPROF_JSON_TIMES; i++)
		if (j->times[j->depth - 1].has >> i & 1) {
			begin(j, timed[i].wall);
			put(j, text, j->wall(j->clock, j->times[j->depth - 1].ns[i], text));
		}
}

static void enter(struct mprof_json *j, char bracket)
{
	put(j, &bracket, 1);
	j->times[j->depth++].has = 0;
	j->filled = false;
}

void mprof_json_open(struct mprof_json *j, const char *key, char bracket)
{
	begin(j, key);
	enter(j, bracket);
}

void mprof_json_close(struct mprof_json *j, char bracket)
{
	put_walls(j);
	j->depth--;
	if (j->rows ? j->depth == 1 : j->pretty && j->filled)
		put_line(j);
	put(j, &bracket, 1);
	j->filled = true;
}

void mprof_json_null(struct mprof_json *j, const char *key)
{
	begin(j, key);
	put(j, "null", 4);
}

void mprof_json_boolean(struct mprof_json *j, const char *key, bool value)
{
	begin(j, key);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void mprof_json_number(struct mprof_json *j, const char *key, int64_t value)
{
	bool exact = !j->shown || (value > -(1LL << 53) && value < 1LL << 53);
	char digits[24];

	begin(j, key);
	put(j, digits, (size_t)snprintf(digits, sizeof(digits), exact ? "%" PRId64 : "\"%" PRId64 "\"", value));
}

/* Write VALUE to DIGITS, which has 40 bytes, with a point whatever the locale has. */
static size_t real_text(double value, char *digits)
{
	char text[48];
	size_t n = 0;
	bool point = false;

	snprintf(text, sizeof(text), "%.17g", value);
	for (const char *c = text; *c; c++)
		if (strchr("-+0123456789e", *c)) {
			digits[n++] = *c;
		} else if (!point) {
			digits[n++] = '.';
			point = true;
		}
	digits[n] = 0;
	return n;
}

void mprof_json_real(struct mprof_json *j, const char *key, double value)
{
	char digits[40];
	size_t n, at;

	begin(j, key);
	if (!isfinite(value)) {
		put(j, "null", 4);
		return;
	}
	n = real_text(value, digits);
	at = strcspn(digits, "e");
	put(j, digits, at);
	if (at == n) {
		if (!strchr(digits, '.'))
			put(j, ".0", 2); /* a reader that tells integers from reals sees a real */
		return;
	}
	/* The shortest exponent: 1e-7 and 1e20, not 1e-07 and 1e+20. */
	put(j, "e-", digits[at + 1] == '-' ? 2 : 1);
	at += 2 + strspn(digits + at + 2, "0");
	put(j, digits + at, n - at);
}

/* Write the control character C with the shortest escape of JSON. */
static void put_control(struct mprof_json *j, uint8_t c)
{
	static const char *const names[0x20] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
	char code[8];

	if (names[c])
		put(j, names[c], 2);
	else
		put(j, code, (size_t)snprintf(code, sizeof(code), "\\u%04X", c));
}

static void put_text(struct mprof_json *j, const char *text, size_t n)
{
	char out[PIECE];

	while (n) {
		size_t run = 0, left;

		while (run < n && (uint8_t)text[run] >= 0x20)
			run++;
		for (left = run, n -= run; left;)
			put(j, out, mprof_text_json(out, sizeof(out), &text, &left));
		if (n) {
			put_control(j, (uint8_t)*text++);
			n--;
		}
	}
}

/* Write the N bytes at TEXT as mprof_text_show() does. */
static void put_shown(struct mprof_json *j, const char *text, size_t n)
{
	size_t left = n < MPROF_JSON_SHOWN_MAX ? n : MPROF_JSON_SHOWN_MAX;
	char out[PIECE];

	while (left)
		put_text(j, out, mprof_text_show(out, sizeof(out), &text, &left));
	if (n > MPROF_JSON_SHOWN_MAX)
		put(j, "…", sizeof("…") - 1);
}

/* Write the N bytes at TEXT inside of a string. */
static void put_part(struct mprof_json *j, const char *text, size_t n)
{
	if (j->shown)
		put_shown(j, text, n);
	else
		put_text(j, text, n);
}

void mprof_json_text(struct mprof_json *j, const char *key, const char *text, size_t n)
{
	begin(j, key);
	put(j, "\"", 1);
	put_part(j, text, n);
	put(j, "\"", 1);
}

void mprof_json_open_named(struct mprof_json *j, const char *of, const char *name, size_t n)
{
	begin(j, NULL);
	put(j, "\"", 1);
	if (of) {
		put_part(j, of, strlen(of));
		put(j, ": ", 2);
	}
	put_part(j, name, n);
	put(j, "\": ", j->pretty || j->rows ? 3 : 2);
	enter(j, '{');
}

void mprof_json_word(struct mprof_json *j, const char *key, const char *text)
{
	if (text)
		mprof_json_text(j, key, text, strlen(text));
	else
		mprof_json_null(j, key);
}

void mprof_json_time(struct mprof_json *j, const char *key, uint64_t ns)
{
	char digits[24];

	begin(j, key);
	put(j, digits, (size_t)snprintf(digits, sizeof(digits), "\"%" PRIu64 "\"", ns));
	for (uint32_t i = 0; j->wall && i < MPROF_JSON_TIMES; i++)
		if (strcmp(timed[i].key, key) == 0) {
			j->times[j->depth - 1].has |= 1u << i;
			j->times[j->depth - 1].ns[i] = ns;
		}
}
