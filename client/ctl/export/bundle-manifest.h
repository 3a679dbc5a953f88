/* The manifest of a bundle. */
#ifndef CTL_BUNDLE_MANIFEST_H
#define CTL_BUNDLE_MANIFEST_H

#include "bundle.h"

#define BUNDLE_HOST	"host.pftrace"
#define BUNDLE_MANIFEST "perfetto_manifest.json"

/* Its text, to be freed; NULL without memory. */
char *bundle_manifest(const struct bundle *b);

#endif
