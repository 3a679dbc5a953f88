/* Damage that the readers met is told to the daemon that owns the archive. */
#ifndef SERVE_DAMAGE_H
#define SERVE_DAMAGE_H

struct server;

/* Tell the collector, and the sink, where damage was met since the last call.  To be called after whatever happened. */
void damage_report(struct server *s);

#endif
