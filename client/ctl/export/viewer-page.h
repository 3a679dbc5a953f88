/* The viewer as the head of a document, made by client/viewer/onefile.py: what stands behind it is written by html.h. */
#ifndef CTL_VIEWER_PAGE_H
#define CTL_VIEWER_PAGE_H

#include <stddef.h>

extern const unsigned char viewer_page[];
extern const size_t viewer_page_bytes; /* 0: this was built without the viewer */

#endif
