/*
 * The collector's control socket (schema/control.md): notices of commits, captures, and what the collector knows of itself.
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

#include <stddef.h>

struct collector;
struct control;

/* Listen on <RUN>/collect.sock.  On failure -errno and a SENTENCE of SIZE bytes. */
int control_open(struct control **cp, struct collector *collector, const char *run, char *sentence, size_t size);
struct control *control_close(struct control *control); /* NULL too */

/* The archivist has committed, or its state has changed: answer who waited for that, and tell who watches. */
void control_committed(struct control *control);
/* Send SENTENCE, on guests that are not found, to all who watch; "" = nothing is wrong any more. */
void control_say(struct control *control, const char *sentence);

#endif
