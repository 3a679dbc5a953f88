/*
 * The viewer as the head of an HTML document. client/viewer/onefile.py generates the array when
 * mprofctl is built. html.h describes the part of the document after the head.
 */
#ifndef CTL_VIEWER_PAGE_H
#define CTL_VIEWER_PAGE_H

#include <stddef.h>

extern const unsigned char viewer_page[];
extern const size_t viewer_page_bytes; /* 0 if mprofctl was built without the viewer */

#endif
