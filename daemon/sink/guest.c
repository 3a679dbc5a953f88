/*
 * What the sink connects to, because it was asked to or because the guest offers it (collector.c).
 *
 * What was asked for is tried until it is recorded once or cannot be; from then on, where it is lost without having been stopped, it is tried again for
 * a while, ever more slowly.  What is offered is tried as long as it is.  A guest that came back is another run, so who it is is asked each time.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "receiver.h"

#define TARGETS_MAX   1024u
#define BACKOFF_FIRST (NS_PER_S / 2)
#define BACKOFF_MOST  (30 * NS_PER_S)
#define STEADY_NS     (10 * NS_PER_S) /* a recording that lasted so long began well */
#define WHERE_NS      (2 * NS_PER_S)

void target_free(struct target *t)
{
	struct target **at = &t->sink->targets;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	if (t->stream)
		t->stream->target = NULL;
	sd_event_source_disable_unref(t->timer);
	free(t->name);
	free(t->uuid);
	free(t);
}

static void wait_for(struct target *t, uint64_t ns)
{
	sd_event_source_set_time_relative(t->timer, ns / NS_PER_US);
	sd_event_source_set_enabled(t->timer, SD_EVENT_ONESHOT);
}

/* Ever more slowly. */
static void try_later(struct target *t)
{
	wait_for(t, t->backoff);
	t->backoff = t->backoff * 2 > BACKOFF_MOST ? BACKOFF_MOST : t->backoff * 2;
}

/* It comes to nothing: say so to who asked, and forget it, or go on as if nobody had. */
__attribute__((format(printf, 3, 4))) static void give_up(struct target *t, unsigned status, const char *format, ...)
{
	char sentence[256];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (t->starter.client)
		control_error(t->sink->control, t->starter, status, sentence);
	else if (!t->automatic)
		log_info("not connected to again: address=%s port=%u", t->address, t->port);
	t->starter = (struct control_asker){0};
	if (!t->automatic)
		target_free(t);
	else if (!t->over)
		try_later(t);
}

static void connect_to(struct target *t)
{
	struct sockaddr_storage store;
	unsigned len;
	int fd, r;

	if (t->sink->n_streams >= t->sink->config->sink_streams) {
		give_up(t, 503, "as many streams are received as may be");
		return;
	}
	if (!address_parse(t->address, t->port, &store, &len)) {
		give_up(t, 400, "%s is no numeric address", t->address);
		return;
	}
	fd = socket(store.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		r = -errno;
	else
		r = connect(fd, (struct sockaddr *)&store, len) < 0 && errno != EINPROGRESS ? -errno : 0;
	if (r < 0) {
		closep(&fd);
		target_ended(t, strerror(-r), false);
		return;
	}
	t->stream = stream_new(t->sink, fd, t->address, t->port, t);
	if (!t->stream)
		give_up(t, 503, "there is no memory to connect to %s port %u", t->address, t->port);
}

static void ask_where(struct target *t)
{
	if (identify_target(t))
		wait_for(t, WHERE_NS);
	else
		target_where(t, NULL);
}

/* Must the collector be asked before it is connected to: where it is, who it is, or whether it is the same guest still? */
static bool wants_where(const struct target *t)
{
	return t->domid >= 0 && (!*t->address || !t->port || t->connected || (t->automatic && !t->starter.client));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	struct target *t = context;

	(void)source;
	(void)usec;
	if (t->where) {
		t->where = 0;
		target_where(t, NULL);
	} else if (!t->stream && wants_where(t)) {
		ask_where(t);
	} else if (!t->stream) {
		connect_to(t);
	}
	return 0;
}

void target_recording(struct target *t)
{
	struct item *item;

	t->lost = 0;
	t->connected = clock_mono();
	if (!t->starter.client)
		return;
	/* Answered when it is committed, so that it is there for who asks for it. */
	item = stream_put(t->stream, &t->sink->batch);
	if (item)
		item->asker = t->starter;
	t->starter = (struct control_asker){0};
	sink_dirty(t->sink);
}

/* A guest that is lost at once each time is asked ever more seldom. */
static void reset_backoff(struct target *t, uint64_t now, bool recorded)
{
	if (recorded && now - t->connected >= STEADY_NS)
		t->backoff = BACKOFF_FIRST;
}

/* Not asked for, but offered: it is tried as long as it is. */
static void automatic_ended(struct target *t, const char *reason)
{
	t->over = t->over || strcmp(reason, "damaged") == 0 || strcmp(reason, "stopped") == 0;
	if (!t->over && !t->sink->ending)
		try_later(t);
}

void target_ended(struct target *t, const char *reason, bool recorded)
{
	uint64_t now = clock_mono(), limit = t->sink->config->sink_reconnect_ns;

	reset_backoff(t, now, recorded);
	if (t->starter.client && strcmp(reason, "closed") == 0) {
		give_up(t, 409, "%s port %u closed at once: it is being profiled by another client already", t->address,
			t->port);
		return;
	}
	if (t->starter.client) {
		give_up(t, 502, "nothing can be recorded from %s port %u: %s", t->address, t->port, reason);
		return;
	}
	if (t->automatic) {
		automatic_ended(t, reason);
		return;
	}
	if (t->over || t->sink->ending || !limit || strcmp(reason, "quota") == 0 || strcmp(reason, "damaged") == 0) {
		target_free(t);
		return;
	}
	t->lost = recorded || !t->lost ? now : t->lost;
	if (now - t->lost > limit)
		give_up(t, 502, "%s port %u is lost", t->address, t->port);
	else
		try_later(t);
}

static char *copy(const struct message *m, const char *key)
{
	const char *value = message_value(m, key);

	return value && *value ? strdup(value) : NULL;
}

/* Who offers is named by the collector.  False: not now, or its policy is that it is asked for. */
static bool may_be_connected(struct target *t, const struct message *m)
{
	if (!t->automatic || t->starter.client)
		return true;
	if (!m) {
		try_later(t);
		return false;
	}
	free(t->name);
	free(t->uuid);
	t->name = copy(m, "name");
	t->uuid = copy(m, "uuid");
	t->over = config_policy(t->sink->config, t->name ? t->name : "").memtrace == MEMTRACE_ASKED;
	return !t->over;
}

/* A domid is used again: is it the target's guest that has it? */
static bool is_its_guest(const struct target *t, const struct message *m)
{
	uint64_t run = 0;

	message_number(m, "run", &run);
	return !t->run || (uint64_t)t->run == run || (!run && !t->automatic);
}

void target_where(struct target *t, const struct message *m)
{
	const char *address;
	uint64_t port;

	t->where = 0;
	sd_event_source_set_enabled(t->timer, SD_EVENT_OFF);
	if (m && !is_its_guest(t, m))
		m = NULL;
	if (!m && t->connected && !t->automatic) {
		/* It may be in another life: who answers is asked when it does. */
		t->run = 0;
		t->domid = -1;
	}
	address = m ? message_value(m, "address") : NULL;
	if (!may_be_connected(t, m))
		return;
	if (!t->port)
		t->port = m && message_number(m, "memtrace-port", &port) && port <= 65535 ? (uint32_t)port : SINK_PORT;
	if (!*t->address && address)
		snprintf(t->address, sizeof(t->address), "%s", address);
	if (*t->address)
		connect_to(t);
	else
		give_up(t, 404,
			"the guest's address is not known: give it as address, or let the toolstack write the ip of "
			"its vif");
}

/* What is connected to already, or about to be. */
static struct target *find(const struct sink *s, const char *address, uint64_t port, uint64_t run)
{
	struct target *t = s->targets;

	while (t && !(*address && strcmp(t->address, address) == 0 && t->port == port) &&
	       !(!*address && run && (uint64_t)t->run == run))
		t = t->next;
	return t;
}

static const char *refusal(const struct sink *s, const struct message *m, const char *address, uint64_t *port)
{
	struct sockaddr_storage store;
	unsigned n = 0, len;

	for (const struct target *t = s->targets; t; t = t->next)
		n++;
	if (s->ending || n >= TARGETS_MAX || s->n_streams >= s->config->sink_streams)
		return "as many streams are received as may be";
	if (*address && !address_parse(address, 1, &store, &len))
		return "address is a numeric address, such as 10.0.0.1";
	if (message_value(m, "port") && (!message_number(m, "port", port) || *port < 1 || *port > 65535))
		return "port is a number from 1 to 65535";
	return NULL;
}

static struct target *target_new(struct sink *s)
{
	struct target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink = s;
	t->domid = -1;
	t->backoff = BACKOFF_FIRST;
	if (sd_event_add_time(s->event, &t->timer, CLOCK_MONOTONIC, 0, 0, on_timer, t) < 0) {
		free(t);
		return NULL;
	}
	sd_event_source_set_enabled(t->timer, SD_EVENT_OFF);
	t->next = s->targets;
	s->targets = t;
	return t;
}

/* Connect, finding out first where to what is not known. */
static void begin(struct target *t)
{
	t->over = false;
	if (wants_where(t))
		ask_where(t);
	else
		target_where(t, NULL);
}

/* Somebody asks for one that is known: now, if it is not connected, and told what comes of it where it is about to be. */
static void start_again(struct target *t, struct control_asker asker)
{
	if ((t->stream && t->stream->state >= STREAM_RECORDING) || t->starter.client) {
		control_error(t->sink->control, asker, 409,
			      "a memory profile of it is being recorded already; stop that first");
		return;
	}
	t->starter = asker;
	t->backoff = BACKOFF_FIRST;
	if (!t->where && !t->stream)
		begin(t);
}

void target_start(struct sink *s, struct control_asker asker, const struct message *m)
{
	const char *given = message_value(m, "address"), *address = given ? given : "", *why;
	uint64_t port = 0, run = 0, domid = 0;
	struct target *t;

	why = refusal(s, m, address, &port);
	if (why) {
		control_error(s->control, asker, strncmp(why, "as many", 7) == 0 ? 503 : 400, why);
		return;
	}
	message_number(m, "run", &run);
	t = find(s, address, port ? port : SINK_PORT, run);
	if (t) {
		start_again(t, asker);
		return;
	}
	t = target_new(s);
	if (!t) {
		control_error(s->control, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	t->run = (int64_t)run;
	t->domid = message_number(m, "domid", &domid) ? (int64_t)domid : -1;
	t->name = copy(m, "name");
	t->uuid = copy(m, "uuid");
	t->port = (uint32_t)port;
	snprintf(t->address, sizeof(t->address), "%s", address);
	t->starter = asker;
	begin(t);
}

void target_offered(struct sink *s, const struct offer *offer, uint64_t now)
{
	struct target *t;
	unsigned n = 0;

	for (t = s->targets; t; t = t->next)
		n++;
	t = n < TARGETS_MAX ? target_new(s) : NULL;
	if (!t)
		return; /* it is offered again in a second */
	t->run = offer->run;
	t->domid = offer->domid;
	t->port = t->offered_port = offer->port;
	t->automatic = true;
	t->seen = now;
	begin(t);
}

void target_offered_anew(struct target *t, uint32_t port)
{
	t->port = port;
	if (t->stream || t->where)
		return; /* what is recorded goes on; where it ends the new port counts */
	t->backoff = BACKOFF_FIRST;
	begin(t);
}

void target_gone(struct target *t)
{
	struct stream *stream = t->stream;

	t->automatic = false;
	t->over = true;
	if (t->starter.client)
		control_error(t->sink->control, t->starter, 404, "the guest is gone");
	t->starter = (struct control_asker){0};
	if (stream)
		stream_stop(stream, "closed", (struct control_asker){0});
	else
		target_free(t);
}
