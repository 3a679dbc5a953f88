/* The other end of what a process waits for: of a pipe or a socket, or a child process. */
#ifndef RUN_OTHER_END_H
#define RUN_OTHER_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OTHER_END_TEXT 128u

struct other_end {
	pid_t pid;		   /* the process that has the other end; 0 = none of this host that can be seen */
	uint32_t fd;		   /* its descriptor, if there is a process */
	uint32_t more;		   /* number of further descriptors, of any process, that are the other end, too */
	bool cut;		   /* not all processes could be looked at: others may have it, too */
	char text[OTHER_END_TEXT]; /* of a descriptor its link, as `pipe:[123]`; else the address */
};

/*
 * Store in *END the other end of the descriptor FD of the process PID: who can write if PID waits to read, who can read
 * if it WRITES. Return false if FD is neither a pipe nor a connected socket, or if nothing is known of its other end.
 */
bool other_end_find(pid_t pid, uint32_t fd, bool writes, struct other_end *end);
/*
 * Write to TEXT (SIZE bytes) what the descriptor FD of PID watches if it is one of epoll: the first descriptors, and their number. Return
 * false if FD is no such descriptor or watches none.
 */
bool other_end_watched(pid_t pid, uint32_t fd, char *text, size_t size);
/*
 * Return the child for which the thread TID of PID waits, or 0 if that is not known. Store in *MORE the number of
 * its other children, one of which may end the wait.
 */
pid_t other_end_child(pid_t pid, pid_t tid, uint32_t *more);
/* Write to NAME (SIZE bytes) the name of the process PID; "" if it has gone. */
void other_end_name(pid_t pid, char *name, size_t size);

#endif
