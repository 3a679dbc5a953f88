/*
 * Questions to the collector: which guest has an address, which address a domain has, and which
 * guests offer a profile.
 */
#ifndef SINK_COLLECTOR_H
#define SINK_COLLECTOR_H

#include <stdbool.h>

struct guest;
struct receiver;
struct stream;

/* Connect to the collector's socket in the directory RUN. Return 0 or -errno. */
int collector_open(struct receiver *receiver, const char *run);
/* Ask which guest has the stream's address. The answer is passed to stream_identify(). */
void collector_ask_who(struct stream *s);
/*
 * Ask again for the streams whose guest the collector did not know. Call it a few times per second.
 */
void collector_ask_again(struct receiver *receiver);
/*
 * Ask for the address and port of the guest's domain. The answer is passed to guest_located().
 * Return false if the question cannot be sent.
 */
bool collector_ask_where(struct guest *g);
/*
 * Ask which guests offer a profile, and connect to these guests when the answer comes. Call it a
 * few times per second.
 */
void collector_ask_offers(struct receiver *receiver);

#endif
