/* How slow and how long the answers of a server may be.  The environment sets that; mprofctl(1) describes the variables. */
#ifndef CTL_HTTP_LIMITS_H
#define CTL_HTTP_LIMITS_H

#include <stdint.h>

struct limits {
	uint64_t rate;	  /* MPROFCTL_MIN_RATE: bytes a second that a body must bring; 0 = any */
	uint64_t seconds; /* MPROFCTL_TIMEOUT: of silence, and over which the rate is taken; 1 to 86,400 */
	uint64_t pages;	  /* MPROFCTL_MAX_PAGES: of one list; at least 1 */
};

/* Read the environment into L.  Return an exit code, having said which variable is wrong. */
int limits_read(struct limits *l);

#endif
