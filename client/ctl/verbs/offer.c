/*
 * Whatever fails, fails quietly: nobody wants to be told in the middle of a word.
 *
 * Guests choose their names, and a shell takes what it is given for what a person typed.  Only names of harmless letters are offered.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http.h"
#include "offer.h"
#include "scope.h"

/* How long a person waits for the daemon in the middle of a line. */
#define PATIENCE_S 2

void offer_text(const struct offer *o, const char *text, size_t len, const char *what, size_t what_len)
{
	if (strncmp(text, o->word, strlen(o->word)) != 0 || strlen(o->word) > len)
		return;
	printf("%.*s%.*s\t%.*s\n", (int)(o->word - o->kept), o->kept, (int)len, text, (int)what_len, what);
}

void offer_word(const struct offer *o, const char *word, const char *what)
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

void offer_remote(const struct offer *o, const char *host, bool domains, bool captures)
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
