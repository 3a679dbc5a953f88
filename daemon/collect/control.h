/*
 * The collector's control socket (schema/control.md): notices of commits, requests for captures,
 * and questions about guests and metrics.
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

#include <stddef.h>

struct collector;
struct control;

/*
 * Listen on <RUN>/collect.sock. Return 0, with the socket in *CP; or -errno, with a sentence in
 * SENTENCE (SIZE bytes).
 */
int control_open(struct control **cp, struct collector *collector, const char *run, char *sentence, size_t size);
struct control *control_close(struct control *control); /* accepts NULL */

/*
 * Answer the clients whose items are committed, and notify the clients that watch. To be called
 * after each commit, and each change of the commit thread's state.
 */
void control_committed(struct control *control);
/*
 * Send SENTENCE, which says why guests may not be found, to all clients that watch. "" = there is
 * no problem any more.
 */
void control_report_trouble(struct control *control, const char *sentence);

#endif
