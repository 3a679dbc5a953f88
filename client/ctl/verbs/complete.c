/*
 * `mprofctl complete -- WORD...`: print the candidates for the last WORD of a command line. The
 * shell scripts in completion/ run it.
 *
 * The candidates come from the help texts: every verb, option and value that the help names can be
 * completed. So there is no second list to maintain. The line `:files` tells the scripts to offer
 * files, too.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/event.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "exporter.h"
#include "help.h"
#include "hosts-file.h"
#include "hosts.h"
#include "http.h"
#include "options.h"
#include "verbs.h"

/*
 * The word to complete. A candidate is printed on standard output as one line: the whole word, a
 * tab, and a description.
 */
struct offer {
	/* The part that candidates complete; points into KEPT, or is KEPT itself. */
	const char *word;
	/*
	 * The word as the user typed it; borrowed. The text before WORD is printed before each
	 * candidate: `--option=`, or the complete items of a list with commas.
	 */
	const char *kept;
};

/*
 * Set *LINE and *LEN to the next line of *TEXT, without its newline, and move *TEXT behind it.
 * Return false at the end of the text.
 */
static bool help_line_next(const char **text, const char **line, size_t *len)
{
	*line = *text;
	*len = strcspn(*text, "\n");
	*text += *len + ((*text)[*len] == '\n');
	return *line != *text;
}

/* Return true if the help's line describes an option. */
static bool help_line_is_option(const char *line, size_t len)
{
	return len > 3 && strncmp(line, "  -", 3) == 0;
}

/*
 * Return the description in LINE, an option's line of the help: the text behind the gap of two
 * spaces, or the next line if there is no gap. Set *WHAT_LEN to its length.
 */
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

/* Return the length of WORD, which ends at a space, comma or newline. */
static size_t help_word_len(const char *word)
{
	return strcspn(word, " ,\n");
}

/* Return true if WORD is a name in capitals, as `URL`, or several words to choose from, as `a|b`. */
static bool is_value(const char *word)
{
	return (word[0] >= 'A' && word[0] <= 'Z') ||
	       (word[0] >= 'a' && word[0] <= 'z' && word[strspn(word, "abcdefghijklmnopqrstuvwxyz")] == '|');
}

/*
 * Return the help's name for the value of the option NAME in the help TEXT: the word behind the
 * option, as in `--host URL` or `--time wall|guest`. The result is not cut at the word's end. Return
 * NULL if the option takes no value.
 */
static const char *value_in(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && (text = strstr(text, name))) {
		text += len;
		if (text[0] == ' ' && is_value(text + 1))
			return text + 1;
	}
	return NULL;
}

/* As value_in(), in the help of VERB and then in the help of mprofctl. VERB may be NULL. */
static const char *help_value(const char *verb, const char *option)
{
	const char *value;

	if (strcmp(option, "-o") == 0)
		option = "--output";
	value = verb ? value_in(help_text(verb), option) : NULL;
	return value ? value : value_in(help_text(NULL), option);
}

/*
 * Errors print nothing, because a message would appear in the middle of the user's command line.
 *
 * Guests choose their own names, and the shell inserts a candidate into the command line. So only
 * names of harmless characters are offered.
 */

/* Most seconds to wait for the daemon while the user waits for candidates. */
#define PATIENCE_S 2

/*
 * Print TEXT of LEN bytes as a candidate if it begins with O->word. WHAT is its description,
 * WHAT_LEN bytes.
 */
static void offer_text(const struct offer *o, const char *text, size_t len, const char *what, size_t what_len)
{
	if (strncmp(text, o->word, strlen(o->word)) != 0 || strlen(o->word) > len)
		return;
	printf("%.*s%.*s\t%.*s\n", (int)(o->word - o->kept), o->kept, (int)len, text, (int)what_len, what);
}

/* As offer_text(), with strings that end with NUL. */
static void offer_word(const struct offer *o, const char *word, const char *what)
{
	offer_text(o, word, strlen(word), what, strlen(what));
}

/* ---- candidates from the daemon */

static void give_up(int signal)
{
	(void)signal;
	_exit(0);
}

/*
 * Return true if no character of NAME has a meaning in a shell, and NAME does not look like an
 * option.
 */
static bool harmless(const char *name)
{
	return name && name[0] && name[0] != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")];
}

/* Offer NAME of H, as HOST/NAME if the command line has several hosts. */
static void offer_named(const struct offer *o, const struct http *h, const char *name, const char *what)
{
	CLEANUP(freep) char *whole = NULL;

	if (!harmless(name))
		return;
	if (h->at.several && asprintf(&whole, "%s/%s", h->host, name) < 0)
		return;
	offer_word(o, h->at.several ? whole : name, harmless(what) ? what : "");
}

static void offer_domains(const struct offer *o, struct http *h)
{
	json_t *json = NULL, *domain;
	size_t i;

	if (http_list(h, "/v1/domains", "domains", &json) == CTL_OK)
		json_array_foreach(json_object_get(json, "domains"), i, domain)
		{
			CLEANUP(freep) char *guest = api_hub_guest(domain);

			offer_named(o, h, guest ? guest : json_string_value(json_object_get(domain, "name")),
				    json_string_value(json_object_get(domain, "state")));
		}
	json_decref(json);
}

static void offer_captures(const struct offer *o, struct http *h)
{
	json_t *json = NULL, *capture;
	const json_t *number;
	char id[24];
	size_t i;

	if (http_list(h, "/v1/captures", "captures", &json) == CTL_OK)
		json_array_foreach(json_object_get(json, "captures"), i, capture)
		{
			number = json_object_get(capture, "id"); /* a text on a hub */
			snprintf(id, sizeof(id), "%" JSON_INTEGER_FORMAT, json_integer_value(number));
			offer_named(o, h, json_is_string(number) ? json_string_value(number) : id,
				    json_string_value(json_object_get(capture, "kind")));
		}
	json_decref(json);
}

/* Offer what offer_remote() offers, of a single host. */
static void offer_host(const struct offer *o, const struct hosts *host, bool domains, bool captures)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;

	if (http_open(&h, host) != CTL_OK)
		return;
	if (domains)
		offer_domains(o, &h);
	if (captures)
		offer_captures(o, &h);
	fflush(stdout);
}

/*
 * Offer the names of guests of HOSTS, if DOMAINS is true, and the ids of their captures, if CAPTURES
 * is true. If the daemons do not answer within PATIENCE_S, the program ends with the candidates
 * printed so far.
 */
static void offer_remote(const struct offer *o, const struct hosts *hosts, bool domains, bool captures)
{
	if ((!domains && !captures) || !freopen("/dev/null", "w", stderr))
		return;
	/* Flush the candidates so far, because give_up() ends the program without flushing. */
	fflush(stdout);
	signal(SIGALRM, give_up);
	alarm(PATIENCE_S);
	for (size_t i = 0; i < hosts_count(hosts); i++) {
		struct hosts one = hosts_at(hosts, i);

		one.unattended = true;
		offer_host(o, &one, domains, captures);
	}
}

/* An option instead of a verb. */
#define STDIO_PROXY "--stdio-proxy"

struct completion {
	struct offer offer;
	const char *verb; /* verb in front of the word to complete, or NULL */
	struct hosts hosts;
	/* Option whose value is to be completed, or NULL if the word is no value. */
	const char *option;
	size_t operands; /* number of operands between the verb and the word */
	bool dashes;	 /* "--" was given, so no word behind it is an option */
};

/* Offer all options that LINE, an option's line of the help, describes. */
static void offer_line(const struct completion *c, const char *line, size_t len)
{
	const char *at = line + 2, *what;
	size_t n, what_len;

	what = help_line_what(line, len, &what_len);
	while (at < line + len && *at == '-') {
		n = help_word_len(at);
		offer_text(&c->offer, at, n, what, what_len);
		at += n;
		if (at[0] == ' ' && is_value(at + 1))
			at += 1 + strcspn(at + 1, " \n");
		at += strspn(at, ", ");
		if (at[-1] != ' ' || (at[-2] == ' ' && at[-3] == ' '))
			return;
	}
}

/* Offer NAME, an option that the help of mprofctl describes. */
static void offer_common(const struct completion *c, const char *name)
{
	const char *text = help_text(NULL), *line, *what;
	size_t len, what_len, n = strlen(name);

	while (help_line_next(&text, &line, &len)) {
		const char *at = memmem(line, len, name, n);

		/* A line can describe several options. */
		what = help_line_is_option(line, len) ? help_line_what(line, len, &what_len) : NULL;
		if (what && at && at < what && at[-1] == ' ' && at[n] == ' ')
			offer_text(&c->offer, name, n, what, what_len);
	}
}

static void offer_options(const struct completion *c)
{
	const char *text = c->verb ? help_text(c->verb) : NULL, *line;
	const struct exporter *e;
	size_t len;

	while (text && help_line_next(&text, &line, &len))
		if (help_line_is_option(line, len))
			offer_line(c, line, len);
	for (size_t i = 0; c->verb && strcmp(c->verb, "export") == 0 && (e = exporter_at(i)); i++)
		for (size_t k = 0; e->options && e->options[k].name; k++)
			offer_word(&c->offer, e->options[k].name, e->name);
	for (size_t i = 0; common_options[i]; i++)
		offer_common(c, common_options[i]);
	if (!c->verb)
		offer_common(c, STDIO_PROXY);
}

/*
 * Offer the verbs. The help of mprofctl lists them before the options. The description of a verb
 * begins in column COLUMN, in the verb's line or in a later line.
 */
static void offer_verbs(const struct completion *c)
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

/* ---- choosing the candidates */

static bool has_word(const char *words, size_t len, const char *word)
{
	return memmem(words, len, word, strlen(word));
}

/*
 * Offer the values that KINDS allows. KINDS is a part of a usage line, LEN bytes: kinds of traces
 * as in "FILE|-|DOMAIN", or literal words as in "dump|identify".
 */
static void offer_kinds(const struct completion *c, const char *kinds, size_t len)
{
	/* GOOD and BAD stand for any trace */
	bool both = has_word(kinds, len, "GOOD") || has_word(kinds, len, "BAD");
	size_t n;

	if (both || has_word(kinds, len, "FILE") || has_word(kinds, len, "PATH") || has_word(kinds, len, "DIR"))
		puts(":files");
	for (; len && *kinds >= 'a' && *kinds <= 'z'; kinds += n, len -= n) {
		n = strcspn(kinds, "|] \n");
		n = n < len ? n : len;
		offer_text(&c->offer, kinds, n, "", 0);
		n += n < len && kinds[n] == '|';
	}
	offer_remote(&c->offer, &c->hosts, both || has_word(kinds, len, "DOMAIN"),
		     both || has_word(kinds, len, "CAPTURE"));
}

/*
 * A help text can begin with several usage lines for the same verb. TEXT is in the first of them.
 * Offer values for the first operand of the lines after it.
 */
static void offer_further(const struct completion *c, const char *text)
{
	static const char before[] = "       mprofctl ";
	size_t verb = strlen(c->verb);

	while ((text = strchr(text, '\n')) && strncmp(++text, before, sizeof(before) - 1) == 0) {
		text += sizeof(before) - 1;
		if (strncmp(text, c->verb, verb) == 0 && text[verb] == ' ')
			offer_kinds(c, text + verb + 1, strcspn(text + verb + 1, " \n"));
	}
}

/*
 * Offer values for the operand to complete, which is number C->operands in the verb's usage line.
 * If the last operand of the usage ends with "...", it also stands for all later operands.
 */
static void offer_operand(const struct completion *c)
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
			/* Skip an option and its value. */
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

/* Move C->offer.word behind the last comma, to complete only the last item of a list. */
static void begin_item(struct completion *c)
{
	const char *comma = strrchr(c->offer.word, ',');

	c->offer.word = comma ? comma + 1 : c->offer.word;
}

static void offer_host_name(void *context, const char *name, const char *address)
{
	const struct offer *o = context;

	(void)address;
	offer_word(o, name, "");
}

static void offer_value(struct completion *c)
{
	const char *value = help_value(c->verb, c->option);
	const struct exporter *e;

	if (strcmp(c->option, "--host") == 0) {
		begin_item(c);
		hosts_file_each(offer_host_name, &c->offer);
	} else if (strcmp(c->option, "--event") == 0) {
		begin_item(c);
		for (size_t i = 0; i < MPROF_EVENT_IDS; i++)
			offer_word(&c->offer, mprof_event_name((uint8_t)i), "");
	} else if (c->verb && strcmp(c->verb, "export") == 0 && strcmp(c->option, "--to") == 0) {
		for (size_t i = 0; (e = exporter_at(i)); i++)
			offer_word(&c->offer, e->name, e->what);
	} else if (value) {
		offer_kinds(c, value, help_word_len(value));
	}
}

/* If OPTION is an option of struct hosts, store its VALUE in HOSTS. */
static void keep_value(struct hosts *hosts, const char *option, size_t len, const char *value)
{
	const struct {
		const char *name;
		const char **slot;
	} options[] = {
		{"--host", &hosts->list}, {"--ca", &hosts->ca},	      {"--cert", &hosts->cert},
		{"--key", &hosts->key},	  {"--token", &hosts->token},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strlen(options[i].name) == len && memcmp(options[i].name, option, len) == 0)
			*options[i].slot = value;
}

/* Update C for WORD, a word in front of the one to complete. */
static void read_word(struct completion *c, const char *word)
{
	if (strcmp(word, "=") == 0) {
		return; /* some shells split --option=VALUE into three words */
	} else if (c->option) {
		keep_value(&c->hosts, c->option, strlen(c->option), word);
		c->option = NULL;
	} else if (!c->dashes && strcmp(word, "--") == 0) {
		c->dashes = true;
	} else if (!c->dashes && word[0] == '-' && word[1]) {
		const char *equals = strchr(word, '=');

		if (equals)
			keep_value(&c->hosts, word, (size_t)(equals - word), equals + 1);
		else if (help_value(c->verb, word))
			c->option = word;
	} else if (!c->verb) {
		c->verb = word;
	} else {
		c->operands++;
	}
}

int cmd_complete(const struct ctl *ctl, int argc, char **argv)
{
	struct completion c = {.hosts = ctl->hosts};
	CLEANUP(freep) char *option = NULL;
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
