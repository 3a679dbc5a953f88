/*
 * Questions to the collector: which guest has an address, where a domain is, and which guests offer
 * a profile. The receiver knows none of that by itself.
 */
#ifndef SINK_COLLECTOR_H
#define SINK_COLLECTOR_H

#include <stdbool.h>

struct guest;
struct receiver;
struct stream;

/* Connect to the collector's socket in the directory RUN. Return 0 or -errno. */
int collector_open(struct receiver *s, const char *run);
/* Ask which guest the stream's address belongs to; stream_identify() gets the answer. */
void collector_ask_who(struct stream *s);
/* Ask again for each stream whose guest was unknown. Call it a few times a second. */
void collector_ask_again(struct receiver *s);
/* Ask where the guest's domain is; guest_located() gets the answer. Return false if the question cannot be sent. */
bool collector_ask_where(struct guest *g);
/* Ask which guests offer a profile, and connect to them. Call it a few times a second. */
void collector_ask_offers(struct receiver *s);

#endif
