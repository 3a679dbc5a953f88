/* The HTTP part as a whole: its counters, and the exchanges that wait. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"

struct http_counts http_counts(const struct http *h)
{
	struct http_counts c = h->counts;

	for (const struct exchange *x = h->exchanges; x; x = x->next) {
		c.open++;
		c.live += x->live != NULL;
		c.events += x->events != NULL;
	}
	for (size_t i = 0; i < h->n_listeners; i++)
		c.clients += h->listeners[i].n_clients;
	return c;
}

struct exchange *http_exchanges(struct http *h)
{
	return h->exchanges;
}

void http_forget(struct http *h)
{
	response_cache_clear(&h->responses);
}

void http_resume(struct http *h, enum wait wait)
{
	for (struct exchange *x = h->exchanges; x; x = x->next)
		if (x->wait == wait)
			exchange_resume(x);
}

static int on_again(sd_event_source *source, void *context)
{
	(void)source;
	http_resume(context, WAIT_AGAIN);
	return 0;
}

void http_answer(struct http *h, uint64_t tag, const struct message *m, bool sink)
{
	struct exchange *x;
	const char *text = message_value(m, "sentence");
	uint64_t status = 0;

	for (x = h->exchanges; x && !(x->wait == WAIT_ANSWER && x->answer.tag == tag && x->answer.sink == sink);
	     x = x->next)
		;
	if (!x)
		return;
	if (!text)
		text = message_value(m, "text");
	x->answer.arrived = true;
	x->answer.ok = strcmp(m->verb, "ok") == 0;
	message_number(m, "capture", &x->answer.capture);
	message_number(m, "recording", &x->answer.recording);
	message_number(m, "archiving", &x->answer.archiving);
	x->answer.source = 1;
	message_number(m, "source", &x->answer.source);
	if (message_number(m, "status", &status) && status < 1000)
		x->answer.status = (unsigned)status;
	x->answer.text = text ? strdup(text) : NULL;
	exchange_resume(x);
}

void http_lost(struct http *h, bool sink)
{
	for (struct exchange *x = h->exchanges; x; x = x->next)
		if (x->wait == WAIT_ANSWER && x->answer.sink == sink)
			exchange_resume(x);
}

void http_tick(struct http *h)
{
	exchanges_check(h);
	for (size_t i = 0; i < h->n_listeners; i++) {
		clients_tick(&h->listeners[i], clock_mono());
		proxied_tick(&h->listeners[i], clock_mono());
		listener_run(&h->listeners[i]);
	}
}

void http_schedule(struct http *h)
{
	for (size_t i = 0; i < h->n_listeners; i++)
		listener_schedule(&h->listeners[i]);
}

int http_new(struct http **hp, sd_event *event, const struct http_options *options, const struct routes *routes,
	     const struct services *services)
{
	CLEANUP(http_freep) struct http *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	h->event = event;
	h->options = *options;
	h->routes = routes;
	h->services = services;
	for (size_t i = 0; options->proxies && options->proxies[i] && i < PROXIES_MAX; i++)
		h->n_proxies += network_parse(options->proxies[i], &h->proxies[i]);
	if (gethostname(h->host, sizeof(h->host) - 1) < 0)
		strcpy(h->host, "localhost");
	rc = sd_event_add_defer(event, &h->again, on_again, h);
	if (rc >= 0)
		rc = sd_event_source_set_enabled(h->again, SD_EVENT_OFF);
	if (rc < 0)
		return rc;
	*hp = TAKE_PTR(h);
	return 0;
}

struct http *http_free(struct http *h)
{
	if (!h)
		return NULL;
	h->stopping = true;
	for (struct exchange *x = h->exchanges; x; x = x->next) {
		x->gone = true;
		exchange_resume(x);
	}
	for (size_t i = 0; i < h->n_listeners; i++)
		MHD_run(h->listeners[i].daemon); /* no connection may be suspended when its daemon is stopped */
	for (size_t i = 0; i < h->n_listeners; i++)
		listener_stop(&h->listeners[i]);
	response_cache_clear(&h->responses);
	sd_event_source_disable_unref(h->again);
	free(h);
	return NULL;
}
