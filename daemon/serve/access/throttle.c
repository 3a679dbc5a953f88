/* Allowances of peers. */
#include "throttle.h"

#define SECOND 1000000000ull

/* Return the place of PEER in the table; a new one if it has none. */
static struct throttle_peer *place(struct throttle *t, struct peer peer, uint64_t now)
{
	struct throttle_peer *oldest = &t->peers[0];

	for (size_t i = 0; i < THROTTLE_PEERS; i++) {
		struct throttle_peer *p = &t->peers[i];

		if (p->seen && peer_same(p->peer, peer)) {
			p->seen = now;
			return p;
		}
		oldest = p->seen < oldest->seen ? p : oldest;
	}
	*oldest = (struct throttle_peer){.peer = peer, .seen = now};
	return oldest;
}

/* Move *UNTIL ahead by COST, unless that is more than ROOM ahead of NOW. Return false if it is. */
static bool spend(uint64_t *until, uint64_t now, uint64_t cost, uint64_t room)
{
	*until = *until > now ? *until : now;
	if (*until + cost > now + room)
		return false;
	*until += cost;
	return true;
}

bool throttle_is_wrong(struct throttle *t, struct peer peer, uint64_t now)
{
	for (size_t i = 0; i < THROTTLE_PEERS; i++)
		if (t->peers[i].seen && peer_same(t->peers[i].peer, peer))
			return t->peers[i].wrong_until + THROTTLE_WRONG_NS > now + THROTTLE_WRONG * THROTTLE_WRONG_NS;
	return false;
}

uint32_t throttle_wrong(struct throttle *t, struct peer peer, uint64_t now)
{
	struct throttle_peer *p = place(t, peer, now);
	uint32_t n;

	spend(&p->wrong_until, now, THROTTLE_WRONG_NS, THROTTLE_WRONG * THROTTLE_WRONG_NS);
	p->refused += p->refused < UINT32_MAX;
	if (p->logged && now - p->logged < THROTTLE_LOG_NS)
		return 0;
	n = p->refused;
	p->logged = now;
	p->refused = 0;
	return n;
}

bool throttle_handshake(struct throttle *t, struct peer peer, uint32_t each_second, uint64_t now)
{
	struct throttle_peer *p = place(t, peer, now);

	return spend(&p->handshakes_until, now, SECOND / each_second, 2 * SECOND);
}

const struct peer *throttle_due(struct throttle *t, uint64_t now, uint32_t *n)
{
	for (size_t i = 0; i < THROTTLE_PEERS; i++) {
		struct throttle_peer *p = &t->peers[i];

		if (!p->refused || now - p->logged < THROTTLE_LOG_NS)
			continue;
		*n = p->refused;
		p->refused = 0;
		p->logged = now;
		return &p->peer;
	}
	return NULL;
}
