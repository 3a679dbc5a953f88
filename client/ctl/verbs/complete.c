/*
 * `mprofctl complete -- WORD...`: what can stand in place of the last of the words, for the shells; the scripts in completion/ ask for it.
 *
 * All that a shell could be told stands in the help already, and is taken from there: what help says of a verb can be completed, and
 * nothing of it must be kept up to date a second time.  A line `:files` says that any file will do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>

#include "ctl.h"
#include "exporter.h"
#include "help-lines.h"
#include "offer.h"
#include "options.h"
#include "scope.h"

static const char *const common[] = {"--help", "--host", "--json", "--version"};

struct completing {
	struct offer offer;
	const char *verb; /* or NULL, before the word */
	const char *host;
	const char *option; /* the word is the value of this one, or NULL */
	size_t operands;    /* between the verb and the word */
	bool dashes;	    /* "--" came: no more options */
};

/* Options of LINE, which may name several. */
static void offer_line(const struct completing *c, const char *line, size_t len)
{
	const char *at = line + 2, *what;
	size_t n, what_len;

	what = help_line_what(line, len, &what_len);
	while (at < line + len && *at == '-') {
		n = help_word_len(at);
		offer_text(&c->offer, at, n, what, what_len);
		at += n;
		if (at[0] == ' ' && at[1] >= 'A' && at[1] <= 'Z')
			at += 1 + strcspn(at + 1, " \n");
		at += strspn(at, ", ");
		if (at[-1] != ' ' || (at[-2] == ' ' && at[-3] == ' '))
			return;
	}
}

static void offer_options(const struct completing *c)
{
	const char *text = c->verb ? help_text(c->verb) : NULL, *line, *what;
	const struct exporter *e;
	size_t len, i, k, what_len;

	while (text && help_line_next(&text, &line, &len))
		if (help_line_is_option(line, len))
			offer_line(c, line, len);
	for (i = 0; c->verb && strcmp(c->verb, "export") == 0 && (e = exporter_at(i)); i++)
		for (k = 0; e->options && e->options[k].name; k++)
			offer_word(&c->offer, e->options[k].name, e->name);
	for (i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		for (text = help_text(NULL); help_line_next(&text, &line, &len);)
			if (help_line_is_option(line, len) && strncmp(line + 2, common[i], strlen(common[i])) == 0) {
				what = help_line_what(line, len, &what_len);
				offer_text(&c->offer, common[i], strlen(common[i]), what, what_len);
			}
	}
}

/* The verbs stand up to the options; what one does begins in the same column, in its line or in one behind. */
static void offer_verbs(const struct completing *c)
{
	const size_t column = 27;
	const char *text = help_text(NULL), *line, *verb = NULL;
	size_t len, n = 0;

	while (help_line_next(&text, &line, &len) && strncmp(line, "Options", 7) != 0) {
		if (len > 2 && strncmp(line, "  ", 2) == 0 && line[2] >= 'a' && line[2] <= 'z') {
			if (verb)
				offer_text(&c->offer, verb, n, "", 0);
			verb = line + 2;
			n = help_word_len(verb);
		}
		if (verb && len > column && strncmp(line + column - 2, "  ", 2) == 0) {
			offer_text(&c->offer, verb, n, line + column, len - column);
			verb = NULL;
		}
	}
	if (verb)
		offer_text(&c->offer, verb, n, "", 0);
}

/* ---- what is wanted */

static bool has_word(const char *words, size_t len, const char *word)
{
	return memmem(words, len, word, strlen(word));
}

/* Whatever a part of the usage allows: "FILE|-|DOMAIN", or words to choose from: "dump|identify". */
static void offer_kinds(const struct completing *c, const char *kinds, size_t len)
{
	bool both = has_word(kinds, len, "GOOD") || has_word(kinds, len, "BAD"); /* any trace */
	size_t n;

	if (both || has_word(kinds, len, "FILE") || has_word(kinds, len, "PATH") || has_word(kinds, len, "DIR"))
		puts(":files");
	for (; len && *kinds >= 'a' && *kinds <= 'z'; kinds += n, len -= n) {
		n = strcspn(kinds, "|] \n");
		n = n < len ? n : len;
		offer_text(&c->offer, kinds, n, "", 0);
		n += n < len && kinds[n] == '|';
	}
	offer_remote(&c->offer, c->host, both || has_word(kinds, len, "DOMAIN"),
		     both || has_word(kinds, len, "CAPTURE"));
}

/* What further lines of the usage at TEXT, each of the same verb, allow in place of its first operand. */
static void offer_further(const struct completing *c, const char *text)
{
	static const char before[] = "       mprofctl ";
	size_t verb = strlen(c->verb);

	while ((text = strchr(text, '\n')) && strncmp(++text, before, sizeof(before) - 1) == 0) {
		text += sizeof(before) - 1;
		if (strncmp(text, c->verb, verb) == 0 && text[verb] == ' ')
			offer_kinds(c, text + verb + 1, strcspn(text + verb + 1, " \n"));
	}
}

/* The operand that WORD is, by the usage of its verb; the last one may stand for more like it. */
static void offer_operand(const struct completing *c)
{
	const char *at = help_text(c->verb);
	size_t len, count = 0;

	at = at ? strstr(at, c->verb) : NULL;
	if (!at)
		return;
	for (at += strlen(c->verb); *at == ' '; at += len) {
		at += 1 + (at[1] == '[');
		len = strcspn(at, " \n");
		if (at[0] == '-' && at[1] && at[1] != '|') {
			/* An option, and its value. */
			if (at[len - 1] != ']' && at[len] == ' ')
				len += 1 + strcspn(at + len + 1, " \n");
			continue;
		}
		if (strncmp(at, "OPTION", 6) == 0)
			continue;
		if (count++ == c->operands || (len > 3 && strncmp(at + len - 3, "...", 3) == 0)) {
			offer_kinds(c, at, len);
			if (!c->operands)
				offer_further(c, at);
			return;
		}
	}
}

/* Of a list the items before the last comma stay. */
static void begin_item(struct completing *c)
{
	const char *comma = strrchr(c->offer.word, ',');

	c->offer.word = comma ? comma + 1 : c->offer.word;
}

static void offer_value(struct completing *c)
{
	const char *value = help_value(c->verb, c->option);
	const struct exporter *e;
	size_t i;

	if (strcmp(c->option, "--event") == 0) {
		begin_item(c);
		for (i = 0; i < MPROF_EVENT_IDS; i++)
			offer_word(&c->offer, mprof_event_name((uint8_t)i), "");
	} else if (c->verb && strcmp(c->verb, "export") == 0 && strcmp(c->option, "--to") == 0) {
		for (i = 0; (e = exporter_at(i)); i++)
			offer_word(&c->offer, e->name, e->what);
	} else if (value) {
		offer_kinds(c, value, help_word_len(value));
	}
}

/* Take in a word before the one to be completed. */
static void read_word(struct completing *c, const char *word)
{
	if (strcmp(word, "=") == 0) {
		return; /* a shell that takes --option=VALUE apart */
	} else if (c->option) {
		c->host = strcmp(c->option, "--host") == 0 ? word : c->host;
		c->option = NULL;
	} else if (!c->dashes && strcmp(word, "--") == 0) {
		c->dashes = true;
	} else if (!c->dashes && word[0] == '-' && word[1]) {
		if (strncmp(word, "--host=", 7) == 0)
			c->host = word + 7;
		else if (!strchr(word, '=') && help_value(c->verb, word))
			c->option = word;
	} else if (!c->verb) {
		c->verb = word;
	} else {
		c->operands++;
	}
}

int cmd_complete(const struct ctl *ctl, int argc, char **argv)
{
	struct completing c = {.host = ctl->host};
	SCOPED(freep) char *option = NULL;
	const char *equals;
	int i = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;

	if (i >= argc)
		return say_usage(NULL, "complete: an argument is missing");
	for (; i < argc - 1; i++)
		read_word(&c, argv[i]);
	c.offer.kept = c.offer.word = strcmp(argv[i], "=") == 0 ? "" : argv[i];
	equals = strchr(c.offer.word, '=');
	if (!c.option && !c.dashes && strncmp(c.offer.word, "--", 2) == 0 && equals) {
		option = strndup(c.offer.word, (size_t)(equals - c.offer.word));
		c.option = option;
		c.offer.word = equals + 1;
	}
	if (c.verb && !help_text(c.verb))
		return CTL_OK;
	if (c.option)
		offer_value(&c);
	else if (!c.dashes && c.offer.word[0] == '-')
		offer_options(&c);
	else if (!c.verb)
		offer_verbs(&c);
	else
		offer_operand(&c);
	return CTL_OK;
}
