/*
 * `mprofctl complete -- WORD...`: what can stand in place of the last of the words, for the shells; the scripts in completion/ ask for it.
 *
 * All that a shell could be told stands in the help already, and is taken from there: what help says of a verb can be completed, and
 * nothing of it must be kept up to date a second time.  A line `:files` says that any file will do.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/event.h>

#include "ctl.h"
#include "exporter.h"
#include "http.h"
#include "options.h"
#include "scope.h"

/* What the word can be that a shell asks about: each candidate is a line on standard output, a word, a tab and what it is. */

struct offer {
	const char *word; /* the part of it that is to be completed; borrowed */
	const char *kept; /* what stands before that and stays, up to WORD; a list up to its last comma */
};

/* The next line of *TEXT, without its end; false behind the last. */
static bool help_line_next(const char **text, const char **line, size_t *len)
{
	*line = *text;
	*len = strcspn(*text, "\n");
	*text += *len + ((*text)[*len] == '\n');
	return *line != *text;
}

/* Does it tell of an option? */
static bool help_line_is_option(const char *line, size_t len)
{
	return len > 3 && strncmp(line, "  -", 3) == 0;
}

/* Behind the gap of such a line, or the whole of the line behind, what the option does: *WHAT_LEN bytes. */
static const char *help_line_what(const char *line, size_t len, size_t *what_len)
{
	const char *gap = memmem(line + 2, len - 2, "  ", 2), *text = line + len;

	if (!gap && *text++) {
		len = strcspn(text, "\n");
		gap = text;
		line = text;
	}
	if (!gap)
		gap = line + len;
	*what_len = len - (size_t)(gap - line);
	while (*what_len && *gap == ' ') {
		gap++;
		--*what_len;
	}
	return gap;
}

/* How long the word is, up to a space or a comma. */
static size_t help_word_len(const char *word)
{
	return strcspn(word, " ,\n");
}

/* Is there a word in capitals behind the option NAME somewhere in TEXT?  Then it takes a value. */
static const char *value_in(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && (text = strstr(text, name))) {
		text += len;
		if (text[0] == ' ' && text[1] >= 'A' && text[1] <= 'Z')
			return text + 1;
	}
	return NULL;
}

/* What help calls the value of OPTION of VERB, or of the program where that is NULL; NULL where it takes none. */
static const char *help_value(const char *verb, const char *option)
{
	const char *value;

	if (strcmp(option, "-o") == 0)
		option = "--output";
	value = verb ? value_in(help_text(verb), option) : NULL;
	return value ? value : value_in(help_text(NULL), option);
}

/*
 * Whatever fails, fails quietly: nobody wants to be told in the middle of a word.
 *
 * Guests choose their names, and a shell takes what it is given for what a person typed.  Only names of harmless letters are offered.
 */

/* How long a person waits for the daemon in the middle of a line. */
#define PATIENCE_S 2

/* TEXT of LEN bytes, where it begins as the word does; WHAT says what it is. */
static void offer_text(const struct offer *o, const char *text, size_t len, const char *what, size_t what_len)
{
	if (strncmp(text, o->word, strlen(o->word)) != 0 || strlen(o->word) > len)
		return;
	printf("%.*s%.*s\t%.*s\n", (int)(o->word - o->kept), o->kept, (int)len, text, (int)what_len, what);
}

/* The same of strings. */
static void offer_word(const struct offer *o, const char *word, const char *what)
{
	offer_text(o, word, strlen(word), what, strlen(what));
}

/* ---- what the daemon has */

static void give_up(int signal)
{
	(void)signal;
	_exit(0);
}

/* Would a shell take it for just these letters? */
static bool harmless(const char *name)
{
	return name && name[0] && name[0] != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")];
}

static void offer_named(const struct offer *o, const char *name, const char *what)
{
	if (harmless(name))
		offer_word(o, name, harmless(what) ? what : "");
}

static void offer_domains(const struct offer *o, struct http *h)
{
	json_t *json = NULL, *domain;
	size_t i;

	if (http_list(h, "/v1/domains", "domains", &json) == CTL_OK)
		json_array_foreach(json_object_get(json, "domains"), i, domain)
		{
			offer_named(o, json_string_value(json_object_get(domain, "name")),
				    json_string_value(json_object_get(domain, "state")));
		}
	json_decref(json);
}

static void offer_captures(const struct offer *o, struct http *h)
{
	json_t *json = NULL, *capture;
	char id[24];
	size_t i;

	if (http_list(h, "/v1/captures", "captures", &json) == CTL_OK)
		json_array_foreach(json_object_get(json, "captures"), i, capture)
		{
			snprintf(id, sizeof(id), "%" JSON_INTEGER_FORMAT,
				 json_integer_value(json_object_get(capture, "id")));
			offer_named(o, id, json_string_value(json_object_get(capture, "kind")));
		}
	json_decref(json);
}

/* The guests, and the captures' ids, that the daemon at HOST has.  Where it does not answer soon the program ends, with what was offered before. */
static void offer_remote(const struct offer *o, const char *host, bool domains, bool captures)
{
	SCOPED(http_close) struct http h = {.signals = -1};

	if ((!domains && !captures) || !freopen("/dev/null", "w", stderr))
		return;
	/* What is known without the daemon is out before it can keep anybody waiting. */
	fflush(stdout);
	signal(SIGALRM, give_up);
	alarm(PATIENCE_S);
	if (http_open(&h, host) != CTL_OK)
		return;
	if (domains)
		offer_domains(o, &h);
	if (captures)
		offer_captures(o, &h);
}

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
