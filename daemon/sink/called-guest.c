/*
 * Connect to guests: guests that a client asked for, and guests that offer a profile (collector-questions.c).
 *
 * The receiver tries to connect to a guest that a client asked for until a recording has begun, or
 * it is clear that there will be none. If that guest's connection is lost later without having been
 * stopped, the receiver tries again for the time `reconnect` of the configuration, at growing
 * intervals. It tries a guest that offers its profile as long as the guest offers it. A guest that
 * was restarted has a new run, so the receiver asks the collector before each connection who the
 * guest is.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "receiver.h"

#define GUESTS_MAX    1024u
#define BACKOFF_FIRST (NS_PER_S / 2)
#define BACKOFF_MOST  (30 * NS_PER_S)
#define STEADY_NS     (10 * NS_PER_S) /* a recording that lasted this long resets the interval between attempts */
#define WHERE_NS      (2 * NS_PER_S)

void guest_free(struct guest *g)
{
	struct guest **at = &g->receiver->guests;

	while (*at && *at != g)
		at = &(*at)->next;
	if (*at)
		*at = g->next;
	if (g->stream)
		g->stream->guest = NULL;
	timer_close(&g->timer);
	free(g->name);
	free(g->uuid);
	free(g);
}

static void wait_for(struct guest *g, uint64_t ns)
{
	timer_set_in(&g->timer, ns);
}

/* Try to connect again later, at growing intervals. */
static void try_later(struct guest *g)
{
	wait_for(g, g->backoff);
	g->backoff = g->backoff * 2 > BACKOFF_MOST ? BACKOFF_MOST : g->backoff * 2;
}

/*
 * Stop trying, and tell the client that waits the status and the sentence. A guest that offers its
 * profile is tried again later; any other guest is freed.
 */
__attribute__((format(printf, 3, 4))) static void give_up(struct guest *g, unsigned status, const char *format, ...)
{
	char sentence[256];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (g->starter.client)
		control_error(g->receiver->control, g->starter, status, sentence);
	else if (!g->automatic)
		log_info("not connected to again: address=%s port=%u", g->address, g->port);
	g->starter = (struct control_asker){0};
	if (!g->automatic)
		guest_free(g);
	else if (!g->over)
		try_later(g);
}

static void connect_to(struct guest *g)
{
	struct sockaddr_storage store;
	unsigned len;
	int fd, r;

	if (g->receiver->n_streams >= g->receiver->config->sink_streams) {
		give_up(g, 503, "as many streams are received as may be");
		return;
	}
	if (!address_parse(g->address, g->port, &store, &len)) {
		give_up(g, 400, "%s is no numeric address", g->address);
		return;
	}
	fd = socket(store.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		r = -errno;
	else
		r = connect(fd, (struct sockaddr *)&store, len) < 0 && errno != EINPROGRESS ? -errno : 0;
	if (r < 0) {
		closep(&fd);
		guest_ended(g, strerror(-r), false);
		return;
	}
	g->stream = stream_new(g->receiver, fd, g->address, g->port, g);
	if (!g->stream)
		give_up(g, 503, "there is no memory to connect to %s port %u", g->address, g->port);
}

static void ask_where(struct guest *g)
{
	if (collector_ask_where(g))
		wait_for(g, WHERE_NS);
	else
		guest_located(g, NULL);
}

/*
 * Return whether the collector must be asked before connecting: for the guest's address or port, or
 * whether the domid still belongs to the guest.
 */
static bool wants_where(const struct guest *g)
{
	return g->domid >= 0 && (!*g->address || !g->port || g->connected || (g->automatic && !g->starter.client));
}

static void on_timer(void *context)
{
	struct guest *g = context;

	if (g->where) {
		g->where = 0;
		guest_located(g, NULL);
	} else if (!g->stream && wants_where(g)) {
		ask_where(g);
	} else if (!g->stream) {
		connect_to(g);
	}
}

void guest_recording(struct guest *g)
{
	struct item *item;

	g->lost = 0;
	g->connected = clock_mono();
	if (!g->starter.client)
		return;
	/* Answer the client after the commit, so that it finds the recording in the archive. */
	item = stream_put(g->stream, &g->receiver->batch);
	if (item)
		item->asker = g->starter;
	g->starter = (struct control_asker){0};
	receiver_dirty(g->receiver);
}

/*
 * Reset the interval between attempts, if the recording lasted long enough. A guest whose
 * connection is lost at once each time keeps its interval.
 */
static void reset_backoff(struct guest *g, uint64_t now, bool recorded)
{
	if (recorded && now - g->connected >= STEADY_NS)
		g->backoff = BACKOFF_FIRST;
}

/*
 * After the end of a stream of a guest that offers its profile: try again, unless the guest was
 * stopped or sends no profile.
 */
static void automatic_ended(struct guest *g, const char *reason)
{
	g->over = g->over || strcmp(reason, "damaged") == 0 || strcmp(reason, "stopped") == 0;
	if (!g->over && !g->receiver->ending)
		try_later(g);
}

void guest_ended(struct guest *g, const char *reason, bool recorded)
{
	uint64_t now = clock_mono(), limit = g->receiver->config->sink_reconnect_ns;

	reset_backoff(g, now, recorded);
	if (g->starter.client && strcmp(reason, "closed") == 0) {
		give_up(g, 409, "%s port %u closed at once: it is being profiled by another client already", g->address,
			g->port);
		return;
	}
	if (g->starter.client) {
		give_up(g, 502, "nothing can be recorded from %s port %u: %s", g->address, g->port, reason);
		return;
	}
	if (g->automatic) {
		automatic_ended(g, reason);
		return;
	}
	if (g->over || g->receiver->ending || !limit || strcmp(reason, "quota") == 0 ||
	    strcmp(reason, "damaged") == 0) {
		guest_free(g);
		return;
	}
	g->lost = recorded || !g->lost ? now : g->lost;
	if (now - g->lost > limit)
		give_up(g, 502, "%s port %u is lost", g->address, g->port);
	else
		try_later(g);
}

static char *copy(const struct message *m, const char *key)
{
	const char *value = message_value(m, key);

	return value && *value ? strdup(value) : NULL;
}

/*
 * Check the policy of a guest that offers its profile; M is the collector's answer about the guest,
 * which has its name. Return false if the receiver must not connect now.
 */
static bool may_be_connected(struct guest *g, const struct message *m)
{
	if (!g->automatic || g->starter.client)
		return true;
	if (!m) {
		try_later(g);
		return false;
	}
	free(g->name);
	free(g->uuid);
	g->name = copy(m, "name");
	g->uuid = copy(m, "uuid");
	g->over = config_policy(g->receiver->config, g->name ? g->name : "").memtrace == MEMTRACE_ASKED;
	return !g->over;
}

/* Return whether M is about the guest G and not about another guest that has G's domid now. */
static bool is_its_guest(const struct guest *g, const struct message *m)
{
	uint64_t run = 0;

	message_number(m, "run", &run);
	return !g->run || (uint64_t)g->run == run || (!run && !g->automatic);
}

void guest_located(struct guest *g, const struct message *m)
{
	const char *address;
	uint64_t port;

	g->where = 0;
	timer_stop(&g->timer);
	if (m && !is_its_guest(g, m))
		m = NULL;
	if (!m && g->connected && !g->automatic) {
		/*
		 * The guest may have a new run: ask the collector who it is when it is connected.
		 */
		g->run = 0;
		g->domid = -1;
	}
	address = m ? message_value(m, "address") : NULL;
	if (!may_be_connected(g, m))
		return;
	if (!g->port)
		g->port = m && message_number(m, "memtrace-port", &port) && port <= 65535 ? (uint32_t)port
											  : MEMTRACE_PORT;
	if (!*g->address && address)
		snprintf(g->address, sizeof(g->address), "%s", address);
	if (*g->address)
		connect_to(g);
	else
		give_up(g, 404,
			"the guest's address is not known: give it as address, or let the toolstack write the ip of "
			"its vif");
}

/*
 * Return the guest with ADDRESS and PORT, or if ADDRESS is "" the guest of RUN; NULL if there is
 * none.
 */
static struct guest *find(const struct receiver *receiver, const char *address, uint64_t port, uint64_t run)
{
	struct guest *g = receiver->guests;

	while (g && !(*address && strcmp(g->address, address) == 0 && g->port == port) &&
	       !(!*address && run && (uint64_t)g->run == run))
		g = g->next;
	return g;
}

static const char *refusal(const struct receiver *receiver, const struct message *m, const char *address,
			   uint64_t *port)
{
	struct sockaddr_storage store;
	unsigned n = 0, len;

	for (const struct guest *g = receiver->guests; g; g = g->next)
		n++;
	if (receiver->ending || n >= GUESTS_MAX || receiver->n_streams >= receiver->config->sink_streams)
		return "as many streams are received as may be";
	if (*address && !address_parse(address, 1, &store, &len))
		return "address is a numeric address, such as 10.0.0.1";
	if (message_value(m, "port") && (!message_number(m, "port", port) || *port < 1 || *port > 65535))
		return "port is a number from 1 to 65535";
	return NULL;
}

static struct guest *guest_new(struct receiver *receiver)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->receiver = receiver;
	g->domid = -1;
	g->backoff = BACKOFF_FIRST;
	if (timer_open(&g->timer, receiver->event, TIMER_LOOSE_NS, on_timer, g) < 0) {
		free(g);
		return NULL;
	}
	g->next = receiver->guests;
	receiver->guests = g;
	return g;
}

/* Connect to the guest. Ask the collector first if wants_where() says so. */
static void begin(struct guest *g)
{
	g->over = false;
	if (wants_where(g))
		ask_where(g);
	else
		guest_located(g, NULL);
}

/*
 * A client asks for a guest that is in the list already: connect now if it is not connected. ASKER
 * gets the result.
 */
static void start_again(struct guest *g, struct control_asker asker)
{
	if ((g->stream && g->stream->state >= STREAM_RECORDING) || g->starter.client) {
		control_error(g->receiver->control, asker, 409,
			      "a memory profile of it is being recorded already; stop that first");
		return;
	}
	g->starter = asker;
	g->backoff = BACKOFF_FIRST;
	if (!g->where && !g->stream)
		begin(g);
}

void guest_start(struct receiver *receiver, struct control_asker asker, const struct message *m)
{
	const char *given = message_value(m, "address"), *address = given ? given : "", *why;
	uint64_t port = 0, run = 0, domid = 0;
	struct guest *g;

	why = refusal(receiver, m, address, &port);
	if (why) {
		control_error(receiver->control, asker, strncmp(why, "as many", 7) == 0 ? 503 : 400, why);
		return;
	}
	message_number(m, "run", &run);
	g = find(receiver, address, port ? port : MEMTRACE_PORT, run);
	if (g) {
		start_again(g, asker);
		return;
	}
	g = guest_new(receiver);
	if (!g) {
		control_error(receiver->control, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	g->run = (int64_t)run;
	g->domid = message_number(m, "domid", &domid) ? (int64_t)domid : -1;
	g->name = copy(m, "name");
	g->uuid = copy(m, "uuid");
	g->port = (uint32_t)port;
	snprintf(g->address, sizeof(g->address), "%s", address);
	g->starter = asker;
	begin(g);
}

void guest_offered(struct receiver *receiver, const struct offer *offer, uint64_t now)
{
	struct guest *g;
	unsigned n = 0;

	for (g = receiver->guests; g; g = g->next)
		n++;
	g = n < GUESTS_MAX ? guest_new(receiver) : NULL;
	if (!g)
		return; /* the collector lists the offer again in a second */
	g->run = offer->run;
	g->domid = offer->domid;
	g->port = g->offered_port = offer->port;
	g->automatic = true;
	g->seen = now;
	begin(g);
}

void guest_moved(struct guest *g, uint32_t port)
{
	g->port = port;
	if (g->stream || g->where)
		return; /* the present recording goes on; the next connection uses the new port */
	g->backoff = BACKOFF_FIRST;
	begin(g);
}

void guest_gone(struct guest *g)
{
	struct stream *stream = g->stream;

	g->automatic = false;
	g->over = true;
	if (g->starter.client)
		control_error(g->receiver->control, g->starter, 404, "the guest is gone");
	g->starter = (struct control_asker){0};
	if (stream)
		stream_stop(stream, "closed", (struct control_asker){0});
	else
		guest_free(g);
}
