/* Grants of pages. */
#ifndef MINI_OS_GNTTAB_H
#define MINI_OS_GNTTAB_H

#include <mini-os/os.h>

grant_ref_t gnttab_grant_access(domid_t domid, unsigned long frame, int readonly);
int gnttab_end_access(grant_ref_t ref);

#endif
