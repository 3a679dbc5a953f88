/*
 * The collector's control socket (schema/control.md): notices of commits, captures, and what the
 * collector knows about itself.
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

#include <stddef.h>

struct collector;
struct control;

/* Listen on <RUN>/collect.sock. On failure return -errno and write a SENTENCE of SIZE bytes. */
int control_open(struct control **cp, struct collector *collector, const char *run, char *sentence, size_t size);
struct control *control_close(struct control *control); /* accepts NULL */

/*
 * Answer those who wait for a commit, and notify those who watch. Called after a commit or a change
 * of the commit thread's state.
 */
void control_committed(struct control *control);
/*
 * Send SENTENCE, which says why guests may not be found, to all who watch. "" = nothing is wrong
 * any more.
 */
void control_report_trouble(struct control *control, const char *sentence);

#endif
