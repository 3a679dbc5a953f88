/* Give up rights that the process does not need any more. */
#ifndef XEN_RIGHTS_H
#define XEN_RIGHTS_H

/*
 * Give up every capability of the calling thread (effective, permitted, inheritable, ambient) and
 * every way to gain one. Threads that this thread creates later have none either. No other thread
 * may exist yet, because it would keep its capabilities. Return 0, or -errno: then the process must
 * end.
 */
int rights_drop(void);

/*
 * Do the same, but keep the capability to read root's logs: CAP_DAC_READ_SEARCH, or
 * CAP_DAC_OVERRIDE if the thread never had the former. Return as rights_drop().
 */
int rights_keep_reading(void);

#endif
