/* Giving up what the process does not need any more. */
#ifndef XEN_RIGHTS_H
#define XEN_RIGHTS_H

/*
 * Give up every capability of the calling thread (effective, permitted, inheritable, ambient) and the way to gain one.  Threads made from
 * then on have none either; those that exist keep theirs, so there must be none.  -errno: and then the process must not go on.
 */
int rights_drop(void);

/* As rights_drop, but keep CAP_DAC_READ_SEARCH (or CAP_DAC_OVERRIDE where the former was never had): for reading root's logs. */
int rights_keep_reading(void);

#endif
