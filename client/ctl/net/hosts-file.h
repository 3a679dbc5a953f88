/*
 * The file with named hosts: $MPROFCTL_HOSTS, else $XDG_CONFIG_HOME/mprofctl/hosts, else
 * ~/.config/mprofctl/hosts. A line is `NAME ADDRESS [ca=FILE] [cert=FILE] [key=FILE] [token=FILE]`.
 */
#ifndef CTL_HOSTS_FILE_H
#define CTL_HOSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* One line. All strings are owned; a FILE is NULL if the line has none. */
struct named_host {
	char *name, *address;
	char *ca, *cert, *key, *token;
};

void named_host_deinit(struct named_host *h);

/*
 * Find the host with the name of LEN bytes at NAME. Fill H, which the caller deinits in any case. A
 * file with a bad line is refused whole. Return an exit code: CTL_USAGE if there is no such name.
 */
int hosts_file_find(struct named_host *h, const char *name, size_t len);

/* Call EACH for the hosts in the order of the file, up to its end or a bad line. Report nothing. */
void hosts_file_each(void (*each)(void *context, const char *name, const char *address), void *context);

#endif
