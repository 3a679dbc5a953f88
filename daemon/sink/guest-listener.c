/* Accept connections from guests. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "clock.h"
#include "receiver.h"

#define BACKLOG	    512
#define ACCEPTS_MAX 64u
/*
 * A recording that is silent for this time makes room for a new stream, if all places are taken: an idle guest
 * sends nothing for minutes.
 */
#define SILENT_NS (600 * NS_PER_S)

bool address_parse(const char *text, uint32_t port, struct sockaddr_storage *store, unsigned *len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)store;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)store;

	memset(store, 0, sizeof(*store));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*len = sizeof(*v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	*len = sizeof(*v6);
	return true;
}

void address_text(const struct sockaddr_storage *store, char *text, uint32_t *port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)store;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)store;

	snprintf(text, STREAM_ADDRESS_MAX, "?");
	*port = 0;
	if (store->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, text, STREAM_ADDRESS_MAX);
		*port = ntohs(v4->sin_port);
	} else if (store->ss_family == AF_INET6) {
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
			inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, STREAM_ADDRESS_MAX);
		else
			inet_ntop(AF_INET6, &v6->sin6_addr, text, STREAM_ADDRESS_MAX);
		*port = ntohs(v6->sin6_port);
	}
}

/* Return whether ADDRESS has as many streams as one guest may have. */
static bool is_crowded(const struct receiver *receiver, const char *address)
{
	unsigned of_guest = 0;

	for (const struct stream *stream = receiver->streams; stream; stream = stream->next)
		of_guest += strcmp(stream->address, address) == 0;
	return of_guest >= receiver->config->sink_guest_streams;
}

/*
 * Return the stream that has waited longest for the first packet of its guest, or NULL. ADDRESS: only
 * streams from there; NULL = from anywhere. A stream that the sink asked for is none.
 */
static struct stream *longest_silent(const struct receiver *receiver, const char *address)
{
	struct stream *longest = NULL; /* the list begins with the newest stream */

	for (struct stream *stream = receiver->streams; stream; stream = stream->next)
		if (stream->state == STREAM_FIRST && !stream->guest &&
		    (!address || strcmp(stream->address, address) == 0))
			longest = stream;
	return longest;
}

/* Return whether A is evicted before B: its guest is not known and that of B is, or A is silent for longer. */
static bool goes_before(const struct stream *a, const struct stream *b)
{
	bool known = a->uuid;

	return known == (bool)b->uuid ? a->heard < b->heard : !known;
}

/*
 * Return the recording to evict, or NULL: one that was silent for SILENT_NS, and that the sink did not ask for.
 * ADDRESS as above. A stream for which the collector is being asked who the guest is would keep its place at
 * its end.
 */
static struct stream *silent_recording(const struct receiver *receiver, const char *address)
{
	uint64_t now = clock_mono();
	struct stream *found = NULL;

	for (struct stream *stream = receiver->streams; stream; stream = stream->next)
		if (stream->state == STREAM_RECORDING && !stream->guest && !stream->who &&
		    now - stream->heard >= SILENT_NS && (!address || strcmp(stream->address, address) == 0) &&
		    (!found || goes_before(stream, found)))
			found = stream;
	return found;
}

/*
 * Make room for one more stream from ADDRESS: evict the streams that have waited longest for their
 * first packet, and then recordings that are silent for long. A guest that is at its own limit evicts
 * only its own. Return false if there is no room.
 */
static bool make_room(struct receiver *receiver, const char *address)
{
	while (!receiver->ending) {
		bool crowded = is_crowded(receiver, address);
		struct stream *silent;

		if (!crowded && receiver->n_streams < receiver->config->sink_streams)
			return true;
		silent = longest_silent(receiver, crowded ? address : NULL);
		if (!silent)
			silent = silent_recording(receiver, crowded ? address : NULL);
		if (!silent)
			return false;
		stream_evict(silent);
	}
	return false;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct sockaddr_storage store = {0};
	struct receiver *receiver = context;
	char address[STREAM_ADDRESS_MAX];
	uint32_t port;

	(void)source;
	(void)events;
	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		socklen_t len = sizeof(store);
		int peer = accept4(fd, (struct sockaddr *)&store, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (peer < 0)
			return 0;
		address_text(&store, address, &port);
		if (make_room(receiver, address)) {
			receiver->counts.accepted++;
			stream_new(receiver, peer, address, port, NULL);
			continue;
		}
		receiver->counts.refused++;
		log_write_limited(&receiver->limit, LOG_LEVEL_WARNING, NULL,
				  "a guest is refused, it or all have as many streams as they may: address=%s",
				  address);
		close(peer);
	}
	return 0;
}

/* Split HOST:PORT in place. Return false if TEXT is anything else. */
static bool split(char *text, const char **host, uint32_t *port)
{
	char *colon = strrchr(text, ':'), *end;
	unsigned long value;

	if (!colon)
		return false;
	*colon = '\0';
	value = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || *end || value > 65535)
		return false;
	*port = (uint32_t)value;
	*host = text;
	if (text[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		*host = text + 1;
	}
	return true;
}

static int open_socket(const struct sockaddr_storage *store, socklen_t len)
{
	CLEANUP(closep) int fd = socket(store->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)store, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int add(struct receiver *receiver, int fd)
{
	sd_event_source **more = realloc(receiver->listeners, (receiver->n_listeners + 1) * sizeof(*more)), *source;
	int r;

	if (!more)
		return -ENOMEM;
	receiver->listeners = more;
	r = sd_event_add_io(receiver->event, &source, fd, EPOLLIN, on_connection, receiver);
	if (r < 0)
		return r;
	sd_event_source_set_io_fd_own(source, 1);
	receiver->listeners[receiver->n_listeners++] = source;
	return 0;
}

/* Log the address HOST on which FD listens, with its port: the kernel has chosen it if the configuration says 0. */
static void log_bound(int fd, const char *host)
{
	const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
	struct sockaddr_storage store = {0};
	socklen_t len = sizeof(store);
	char bound[STREAM_ADDRESS_MAX];
	uint32_t port = 0;

	if (getsockname(fd, (struct sockaddr *)&store, &len) == 0)
		address_text(&store, bound, &port);
	log_write_id(LOG_LEVEL_INFO, LOG_LISTENING_ID, "listening on tcp://%s%s%s:%u", open, host, close, port);
}

int receiver_listen(struct receiver *receiver, const char *text, char *sentence, size_t size)
{
	CLEANUP(freep) char *copy = strdup(text);
	struct sockaddr_storage store;
	const char *host;
	uint32_t port;
	socklen_t len;
	int fd, r;

	if (!copy || !split(copy, &host, &port) || !address_parse(host, port, &store, &len)) {
		snprintf(sentence, size,
			 "[sink] listen = %s is no address: write HOST:PORT, HOST a numeric address, such as "
			 "10.0.0.1:4242",
			 text);
		return -EINVAL;
	}
	fd = open_socket(&store, len);
	r = fd < 0 ? fd : add(receiver, fd);
	if (r < 0) {
		snprintf(sentence, size, "guests cannot connect to %s: %s", text, strerror(-r));
		if (fd >= 0)
			close(fd);
		return r;
	}
	log_bound(fd, host);
	return 0;
}
