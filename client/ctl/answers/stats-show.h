/* The numbers of a trace, for people. */
#ifndef CTL_STATS_SHOW_H
#define CTL_STATS_SHOW_H

#include <jansson.h>

/* What `stats --json` would print, as tables on standard output; returns an exit code, having said why. */
int stats_show(const json_t *json);

#endif
