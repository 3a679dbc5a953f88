/*
 * `mprofctl complete -- WORD...`: print the candidates for the last WORD of a command line. The
 * shell scripts in completion/ run it.
 *
 * The candidates come from mprofctl.options: every verb, option and value of it can be completed. The line `:files`
 * tells the scripts to offer files, too.
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
 * Errors print nothing, because a message would appear in the middle of the user's command line.
 *
 * Guests choose their own names, and the shell inserts a candidate into the command line. So only
 * names of harmless characters are offered.
 */

/* Most seconds to wait for the daemon while the user waits for candidates. */
#define PATIENCE_S 2

/* Print TEXT of LEN bytes as a candidate if it begins with O->word. WHAT is its description. */
static void offer_text(const struct offer *o, const char *text, size_t len, const char *what)
{
	if (strncmp(text, o->word, strlen(o->word)) != 0 || strlen(o->word) > len)
		return;
	printf("%.*s%.*s\t%s\n", (int)(o->word - o->kept), o->kept, (int)len, text, what);
}

/* As offer_text(), with a string that ends with NUL. */
static void offer_word(const struct offer *o, const char *word, const char *what)
{
	offer_text(o, word, strlen(word), what);
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

struct completion {
	struct offer offer;
	/* The verb in front of the word to complete, or the verb behind it. VERB_NONE if there is none. */
	enum verb_number verb;
	bool unknown; /* the word in front is no verb */
	struct hosts hosts;
	struct options options;		 /* the options in front of the word that every verb has */
	const struct option_row *option; /* the option whose value is to be completed; NULL if the word is no value */
	size_t operands;		 /* number of operands between the verb and the word */
	bool dashes;			 /* "--" was given, so no word behind it is an option */
};

static void offer_options(const struct completion *c)
{
	enum verb_number verbs[] = {c->verb, VERB_NONE};

	for (size_t i = c->verb ? 0 : 1; i < ARRAY_SIZE(verbs); i++) {
		for (size_t k = 0; k < verb_rows[verbs[i]].n_options; k++) {
			const struct option_row *row = &verb_rows[verbs[i]].options[k];

			if (c->verb && strcmp(row->name, "--stdio-proxy") == 0)
				continue; /* it is instead of a verb */
			if (row->letter)
				offer_word(&c->offer, row->letter, row->what);
			offer_word(&c->offer, row->name, row->what);
		}
	}
}

/* Offer the verbs, or those behind C->verb. */
static void offer_verbs(const struct completion *c)
{
	for (size_t i = VERB_NONE + 1; i < VERBS; i++) {
		const struct verb_row *row = &verb_rows[i];

		if (!c->verb && !row->behind)
			offer_word(&c->offer, row->name, row->what);
		else if (c->verb && row->behind && strcmp(row->name, verb_rows[c->verb].name) == 0)
			offer_word(&c->offer, row->behind, row->what);
	}
}

/* ---- choosing the candidates */

/* Offer the WORDS, with `|` between, and the things of KINDS, a sum of enum operand_kind. */
static void offer_kinds(const struct completion *c, const char *words, unsigned int kinds)
{
	if (kinds & OPERAND_FILE)
		puts(":files");
	while (*words) {
		size_t n = strcspn(words, "|");

		offer_text(&c->offer, words, n, "");
		words += n + (words[n] == '|');
	}
	offer_remote(&c->offer, &c->hosts, kinds & OPERAND_DOMAIN, kinds & OPERAND_CAPTURE);
}

/* Offer values for the operand to complete, which is number C->operands of the verb. */
static void offer_operand(const struct completion *c)
{
	const struct verb_row *verb = &verb_rows[c->verb];
	const struct operand_row *last = verb->operands ? &verb->operands[verb->n_operands - 1] : NULL;

	if (c->operands < verb->n_operands)
		last = &verb->operands[c->operands];
	else if (!last || !last->repeats)
		return;
	offer_kinds(c, last->words, last->kinds);
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
	const struct option_row *row = c->option;
	const struct exporter *e;

	if (row->is_list)
		begin_item(c);
	if (strcmp(row->name, "--host") == 0) {
		begin_item(c);
		hosts_file_each(offer_host_name, &c->offer);
	} else if (strcmp(row->name, "--event") == 0) {
		for (size_t i = 0; i < MPROF_EVENT_IDS; i++)
			offer_word(&c->offer, mprof_event_name((uint8_t)i), "");
		offer_word(&c->offer, "recorder", "");
		offer_word(&c->offer, "state", "");
	} else if (c->verb == VERB_EXPORT && strcmp(row->name, "--to") == 0) {
		for (size_t i = 0; (e = exporter_at(i)); i++)
			offer_word(&c->offer, e->name, e->what);
	} else {
		offer_kinds(c, row->words ? row->words : "", row->kinds);
	}
}

/* Return the option of VERB, or of every verb, that WORD of LEN bytes names and that takes a value. */
static const struct option_row *find_option(enum verb_number verb, const char *word, size_t len)
{
	enum verb_number verbs[] = {verb, VERB_NONE};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		for (size_t k = 0; k < verb_rows[verbs[i]].n_options; k++) {
			const struct option_row *row = &verb_rows[verbs[i]].options[k];

			if (row->value && ((strlen(row->name) == len && memcmp(row->name, word, len) == 0) ||
					   (row->letter && len == 2 && memcmp(row->letter, word, len) == 0)))
				return row;
		}
	}
	return NULL;
}

/* Keep VALUE of the option ROW, if the daemons depend on it. */
static void keep_value(struct completion *c, const struct option_row *row, const char *value)
{
	const struct verb_row *all = &verb_rows[VERB_NONE];

	if (row >= all->options && row < all->options + all->n_options)
		option_set(&c->options, row, value);
}

/* Update C for WORD, a word in front of the one to complete, which is no option. */
static void read_operand(struct completion *c, const char *word)
{
	enum verb_number verb = c->verb;

	if (verb && !verb_rows[verb].has_verbs) {
		c->operands++;
		return;
	}
	c->verb = verb ? verb_find(verb_rows[verb].name, word) : verb_find(word, NULL);
	c->unknown |= !c->verb;
}

/* Update C for WORD, a word in front of the one to complete. */
static void read_word(struct completion *c, const char *word)
{
	size_t len = strcspn(word, "=");

	if (strcmp(word, "=") == 0) {
		return; /* some shells split --option=VALUE into three words */
	} else if (c->option) {
		keep_value(c, c->option, word);
		c->option = NULL;
	} else if (!c->dashes && strcmp(word, "--") == 0) {
		c->dashes = true;
	} else if (!c->dashes && word[0] == '-' && word[1]) {
		const struct option_row *row = find_option(c->verb, word, len);

		if (row && word[len])
			keep_value(c, row, word + len + 1);
		else
			c->option = row;
	} else {
		read_operand(c, word);
	}
}

int cmd_complete(const struct ctl *ctl, int argc, char **argv)
{
	struct completion c = {.hosts = ctl->hosts};
	const char *equals;
	int i = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;

	if (i >= argc)
		return say_usage(NULL, "complete: an argument is missing");
	for (; i < argc - 1; i++)
		read_word(&c, argv[i]);
	if (c.unknown)
		return CTL_OK;
	options_hosts(&c.options, &c.hosts);
	c.offer.kept = c.offer.word = strcmp(argv[i], "=") == 0 ? "" : argv[i];
	equals = strchr(c.offer.word, '=');
	if (!c.option && !c.dashes && strncmp(c.offer.word, "--", 2) == 0 && equals) {
		c.option = find_option(c.verb, c.offer.word, (size_t)(equals - c.offer.word));
		c.offer.word = equals + 1;
	}
	if (c.option)
		offer_value(&c);
	else if (!c.dashes && c.offer.word[0] == '-')
		offer_options(&c);
	else if (!c.verb || verb_rows[c.verb].has_verbs)
		offer_verbs(&c);
	else
		offer_operand(&c);
	return CTL_OK;
}
