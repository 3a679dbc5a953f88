/* Pages. */
#ifndef MINI_OS_MM_H
#define MINI_OS_MM_H

#include <mini-os/os.h>

unsigned long alloc_pages(int order);
void free_pages(void *pages, int order);

#define alloc_page()	     alloc_pages(0)
#define free_page(page)	     free_pages((page), 0)
#define virt_to_mfn(address) ((unsigned long)(address) / PAGE_SIZE)

#endif
