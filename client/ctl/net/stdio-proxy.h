/* `mprofctl --stdio-proxy`: the end of an ssh: host, on the machine of mprofd-http. */
#ifndef CTL_STDIO_PROXY_H
#define CTL_STDIO_PROXY_H

/*
 * Pass bytes between standard input and output and the Unix socket PATH (NULL = the default), until
 * the socket or standard output ends. The end of standard input is passed on as a shutdown for
 * writing. Return an exit code.
 */
int stdio_proxy(const char *path);

#endif
