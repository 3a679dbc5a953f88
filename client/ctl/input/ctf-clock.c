/*
 * This file reads the clock of TSDL metadata, which anybody can have written. Only two blocks at the
 * top level matter: `clock { … }` and `env { … }`, with their assignments of numbers. All other text
 * is skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "ctf-clock.h"
#include "ctl.h"

#define SECOND INT64_C(1000000000)

/* ---- tokens */

#define TOKEN_MAX 64u /* longer words are cut; none that matters is so long */

struct text {
	const char *at, *end;
	char token[TOKEN_MAX]; /* a word, a number, or one other character; "" at the end */
};

static bool skip_comment(struct text *t)
{
	size_t left = (size_t)(t->end - t->at);
	const char *end;

	if (left < 2 || t->at[0] != '/' || (t->at[1] != '*' && t->at[1] != '/'))
		return false;
	end = t->at[1] == '*' ? memmem(t->at + 2, left - 2, "*/", 2) : memchr(t->at, '\n', left);
	t->at = !end ? t->end : t->at[1] == '*' ? end + 2 : end + 1;
	return true;
}

static bool skip_string(struct text *t)
{
	if (*t->at != '"')
		return false;
	for (t->at++; t->at < t->end && *t->at != '"'; t->at++)
		if (*t->at == '\\' && t->at + 1 < t->end)
			t->at++;
	t->at += t->at < t->end;
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Move T to its next token. A string is the token `"`. */
static void next(struct text *t)
{
	size_t n = 0;

	while (t->at < t->end && (is_space(*t->at) || skip_comment(t)))
		t->at += t->at < t->end && is_space(*t->at);
	t->token[0] = 0;
	if (t->at == t->end)
		return;
	if (!is_word(*t->at)) {
		t->token[0] = *t->at ? *t->at : '?';
		t->token[1] = 0;
		t->at += !skip_string(t);
		return;
	}
	for (; t->at < t->end && is_word(*t->at); t->at++)
		if (n + 1 < TOKEN_MAX)
			t->token[n++] = *t->at;
	t->token[n] = 0;
}

static bool is(const struct text *t, const char *token)
{
	return strcmp(t->token, token) == 0;
}

/* ---- the numbers of the two blocks */

struct numbers {
	bool offset_s_given, offset_given, precision_given, copied_given;
	int64_t offset_s, offset, precision, copied, frequency;
	bool bad;	     /* a number is invalid */
	unsigned int clocks; /* number of clock blocks */
};

/*
 * Read the value behind `=`, and move T to the semicolon. Return false if the value is no decimal
 * number of 64 bits.
 */
static bool take_value(struct text *t, int64_t *value)
{
	bool minus = is(t, "-");
	char digits[TOKEN_MAX + 1], *end;

	if (minus)
		next(t);
	if (t->token[0] < '0' || t->token[0] > '9')
		return false;
	digits[0] = minus ? '-' : '+';
	memcpy(digits + 1, t->token, TOKEN_MAX);
	errno = 0;
	*value = strtoll(digits, &end, 10);
	next(t);
	return !*end && !errno && is(t, ";");
}

static void take_assignment(struct text *t, const char *key, bool clock, struct numbers *n)
{
	const struct {
		const char *key;
		bool clock;
		int64_t *value;
		bool *given;
	} keys[] = {
		{"offset_s", true, &n->offset_s, &n->offset_s_given},	 {"offset", true, &n->offset, &n->offset_given},
		{"precision", true, &n->precision, &n->precision_given}, {"freq", true, &n->frequency, NULL},
		{"last_copied_ns", false, &n->copied, &n->copied_given},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].clock != clock || strcmp(keys[i].key, key) != 0)
			continue;
		if (!take_value(t, keys[i].value))
			n->bad = true;
		else if (keys[i].given)
			*keys[i].given = true;
	}
}

/* Read a block up to its closing brace. T is behind the opening one. */
static void take_block(struct text *t, bool clock, struct numbers *n)
{
	char key[TOKEN_MAX];

	for (next(t); t->token[0] && !is(t, "}"); next(t)) {
		memcpy(key, t->token, sizeof(key));
		next(t);
		if (!is(t, "="))
			continue;
		next(t);
		take_assignment(t, key, clock, n);
		while (t->token[0] && !is(t, ";") && !is(t, "}"))
			next(t);
		if (is(t, "}"))
			return;
	}
}

static void take_all(struct text *t, struct numbers *n)
{
	unsigned int depth = 0;
	bool clock, env;

	for (next(t); t->token[0]; next(t)) {
		clock = !depth && is(t, "clock");
		env = !depth && is(t, "env");
		if (clock || env) {
			next(t);
			if (!is(t, "{"))
				continue;
			n->clocks += clock;
			take_block(t, clock, n);
			continue;
		}
		depth += is(t, "{");
		depth -= depth && is(t, "}");
	}
}

/* Store the offset of N in C. Return NULL, or what is wrong. */
static const char *judge(const struct numbers *n, struct clock_offset *c)
{
	if (n->bad)
		return "a number of its clock is invalid";
	if (!n->offset_s_given && !n->offset_given)
		return NULL;
	if (n->clocks != 1)
		return "it has several clocks";
	if (n->frequency != SECOND)
		return "its clock does not count nanoseconds";
	if (__builtin_mul_overflow(n->offset_s, SECOND, &c->ns) || __builtin_add_overflow(c->ns, n->offset, &c->ns))
		return "the offset of its clock is too large";
	c->known = true;
	c->uncertainty_ns = n->precision_given && n->precision >= 0 ? (uint64_t)n->precision : UINT64_MAX;
	c->ends = n->copied_given;
	c->end_ns = n->copied;
	return NULL;
}

void ctf_clock_parse(struct clock_offset *c, const char *text, size_t len, const char *name)
{
	struct text t = {.at = text, .end = text + len};
	struct numbers n = {.frequency = SECOND}; /* the default of CTF */
	const char *wrong;

	*c = (struct clock_offset){.missing = CLOCK_MISSING_METADATA};
	take_all(&t, &n);
	wrong = judge(&n, c);
	if (!wrong)
		return;
	say("the metadata of %s cannot be used: %s", name, wrong);
	*c = (struct clock_offset){.missing = CLOCK_MISSING_REFUSED};
}

int ctf_clock_read(struct clock_offset *c, int fd, const char *name)
{
	CLEANUP(freep) char *text = NULL;
	size_t used = 0;
	ssize_t n = 1;

	*c = (struct clock_offset){.missing = CLOCK_MISSING_METADATA};
	if (fd < 0)
		return 0;
	text = malloc(CTF_CLOCK_BYTES_MAX + 1);
	if (!text)
		return -ENOMEM;
	while (n > 0 && used <= CTF_CLOCK_BYTES_MAX) {
		n = pread(fd, text + used, CTF_CLOCK_BYTES_MAX + 1 - used, (off_t)used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return -errno;
	if (used <= CTF_CLOCK_BYTES_MAX) {
		ctf_clock_parse(c, text, used, name);
		return 0;
	}
	say("the metadata of %s cannot be used: it is too large", name);
	c->missing = CLOCK_MISSING_REFUSED;
	return 0;
}
