/* A memory profile for a single-file page (html.h): all its unpacked bytes, in a temporary file. */
#ifndef CTL_MEM_PAGE_H
#define CTL_MEM_PAGE_H

#include "mem-input.h"
#include "output.h"

struct mem_page {
	struct mem_input in;
	const char *operand; /* borrowed */
	uint64_t recording;  /* number of the recording to show, from 1; 0 = the last */
	int fd;		     /* unnamed file with the unpacked bytes; -1 = none; owned */
	uint64_t bytes;
};

/*
 * Return true if OPERAND is a file, or standard input from a file, that is a memtrace stream. The
 * stream may be compressed.
 */
bool mem_page_is(const char *operand);

/*
 * Read the profile OPERAND into the file P->fd. The caller has set P->in.hosts. Return an exit code;
 * with CTL_DAMAGED the file has all bytes, too. The caller deinits P in any case.
 */
int mem_page_read(struct mem_page *p, const char *operand, uint64_t recording);
void mem_page_deinit(struct mem_page *p);

/*
 * `mem export --to html`: write the page of OPERAND to FILE, or to standard output if FILE is NULL.
 * HOSTS are those of the command line, RECORDING as in struct mem_page. Return an exit code.
 */
int mem_page_export(const struct hosts *hosts, const char *operand, uint64_t recording, const char *file);

#endif
