/* Requests to XenStore. Each call returns NULL, or the name of an error, which the caller frees. */
#ifndef MINI_OS_XENBUS_H
#define MINI_OS_XENBUS_H

#include <mini-os/os.h>

#define XBT_NIL 0UL

typedef unsigned long xenbus_transaction_t;
typedef struct xenbus_event *xenbus_event_queue;

char *xenbus_read(xenbus_transaction_t xbt, const char *path, char **value);
char *xenbus_write(xenbus_transaction_t xbt, const char *path, const char *value);
char *xenbus_rm(xenbus_transaction_t xbt, const char *path);
char *xenbus_ls(xenbus_transaction_t xbt, const char *path, char ***contents);
char *xenbus_get_perms(xenbus_transaction_t xbt, const char *path, char **value);
char *xenbus_set_perms(xenbus_transaction_t xbt, const char *path, domid_t domid, char perm);
char *xenbus_watch_path_token(xenbus_transaction_t xbt, const char *path, const char *token,
			      xenbus_event_queue *events);
char *xenbus_unwatch_path_token(xenbus_transaction_t xbt, const char *path, const char *token);
char *xenbus_transaction_start(xenbus_transaction_t *xbt);
char *xenbus_transaction_end(xenbus_transaction_t xbt, int abort, int *retry);
char **xenbus_wait_for_watch_return(xenbus_event_queue *queue);
void xenbus_wait_for_watch(xenbus_event_queue *queue);

#endif
