/* How two runs differ, in words. */
#ifndef CTL_DIFF_SHOW_H
#define CTL_DIFF_SHOW_H

#include <jansson.h>

/* Print what diff-json.c made.  Returns an exit code, having said why. */
int diff_show(const json_t *json);

#endif
