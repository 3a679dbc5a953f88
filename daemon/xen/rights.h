/* Give up rights that the process does not need any more. */
#ifndef XEN_RIGHTS_H
#define XEN_RIGHTS_H

/*
 * Give up every capability of the calling thread (effective, permitted, inheritable, ambient) and
 * the way to gain one. Later threads have none either. Existing threads keep theirs, so there must
 * be none. Return 0, or -errno: then the process must not go on.
 */
int rights_drop(void);

/*
 * Do the same, but keep CAP_DAC_READ_SEARCH, or CAP_DAC_OVERRIDE if the former was never held, for
 * reading root's logs.
 */
int rights_keep_reading(void);

#endif
