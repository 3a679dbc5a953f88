/*
 * The list of hosts that the option --host selects: one address, or names of the hosts file with
 * commas between. If there are several names, HOST/GUEST names a guest, and HOST/ID a capture or a
 * recording.
 */
#ifndef CTL_HOSTS_H
#define CTL_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "ctl.h"
#include "table.h"

#define HOSTS_MAX 64u /* most names in one list */

/* Return true if the LEN bytes at TEXT can be a name in the hosts file. */
bool hosts_is_name(const char *text, size_t len);
/* Return the number of selected hosts: 1 for an address, for the default, and for a chosen name. */
size_t hosts_count(const struct hosts *hosts);
/* Report with a usage error that HOSTS has several hosts, if it has. Return an exit code. */
int hosts_check_single(const struct hosts *hosts);
/* Return true if the command line has several names, even if one of them was chosen. */
bool hosts_several(const struct hosts *hosts);
/* Return host number I of HOSTS, from 0 to hosts_count(HOSTS) - 1. It borrows the same strings. */
struct hosts hosts_at(const struct hosts *hosts, size_t i);
/*
 * If OPERAND is "NAME/REST" with a NAME of the list, choose that host in HOSTS and return REST, a
 * part of OPERAND. Otherwise return OPERAND.
 */
const char *hosts_choose(struct hosts *hosts, const char *operand);

/*
 * Read the list at PATH (without a query) of all selected hosts at the same time; KEY is its key in
 * the answers. Set *JSON to an object with one array under KEY, which the caller decrefs. With
 * several names on the command line, each entry has the name of its host under "host"; an entry of a hub
 * has its host there, behind the hub's name and a slash if there are several. If only some
 * hosts fail, *JSON has the entries of the others. Return an exit code: CTL_FAILED if some failed.
 */
int hosts_list(const struct hosts *hosts, const char *path, const char *key, json_t **json);
/*
 * Sort the array of LIST under KEY, newest first, by the RFC 3339 times under TIME of its entries, or
 * under TIME_corrected.
 * Do nothing if a single host was asked. Return an exit code.
 */
int hosts_sort(const struct hosts *hosts, json_t *list, const char *key, const char *time);
/*
 * Return the time under TIME of ENTRY; or, if its host knows that its clock was wrong then, the one under TIME_corrected.
 * Borrowed; NULL: there is none.
 */
const json_t *hosts_time(const json_t *entry, const char *time);
/*
 * Add the value under KEY of ENTRY, an entry of hosts_list(), as the next cell of T: as "HOST/VALUE"
 * if the command line has several hosts, or if the entry is of a hub.
 */
void hosts_add_cell(struct table *t, const struct hosts *hosts, const json_t *entry, const char *key);
/* Print ID as one line on standard output; with several hosts as "HOST/ID" of the chosen one. */
void hosts_print_id(const struct hosts *hosts, long long id);

#endif
