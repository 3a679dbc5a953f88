/* Why threads wait, in words. */
#ifndef CTL_WHY_SHOW_H
#define CTL_WHY_SHOW_H

#include <jansson.h>

/* Print what cmd-why.c made.  Returns an exit code, having said why. */
int why_show(const json_t *json);

#endif
