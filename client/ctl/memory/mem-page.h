/* A memory profile on its way into a self-contained page (html.h): all of its bytes, unpacked, held aside. */
#ifndef CTL_MEM_PAGE_H
#define CTL_MEM_PAGE_H

#include "mem-input.h"
#include "output.h"

struct mem_page {
	struct mem_input in;
	const char *operand; /* borrowed */
	uint64_t recording;  /* the one to be shown of several that are joined; 0: the last */
	int fd;		     /* of a file without a name; -1: none */
	uint64_t bytes;
};

/* Does OPERAND name a file, also a compressed one or standard input where it is a file, that begins as a memtrace stream? */
bool mem_page_is(const char *operand);

/* Read what OPERAND names, P->in.host being set.  Returns an exit code, having said why, CTL_DAMAGED with all bytes too; deinit it in any case. */
int mem_page_read(struct mem_page *p, const char *operand, uint64_t recording);
void mem_page_deinit(struct mem_page *p);

/* `mem export --to html`: the page of OPERAND to FILE, NULL: standard output.  Returns an exit code, having said why. */
int mem_page_export(const char *host, const char *operand, uint64_t recording, const char *file);

#endif
