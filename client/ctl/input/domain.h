/* A guest, as a person calls it. */
#ifndef CTL_DOMAIN_H
#define CTL_DOMAIN_H

#include "http.h"

/* DOMAIN without the "domain:" that may stand before it: a part of it. */
const char *domain_name(const char *domain);
/* "/v1/domains/DOMAIN/WHAT" of such a name, to be freed; NULL without memory. */
char *domain_path(struct http *h, const char *domain, const char *what);

#endif
