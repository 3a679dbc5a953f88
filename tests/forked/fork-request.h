/*
 * The protocol between client and fork server, over a stream socket.
 *
 * A request is a struct fork_request with four descriptors (standard input, output and error, and the working directory), then its
 * texts, each ended by a NUL: the surroundings, the arguments, the environment. The answers are numbers of 32 bits: the process that
 * runs the program, or -1 if it cannot, or if the surroundings of the client and of the server differ; then the status of waitpid().
 */
#ifndef FORK_REQUEST_H
#define FORK_REQUEST_H

#include <stdint.h>
#include <stdio.h>

#define FORK_FDS      4
#define FORK_SIZE_MAX (4u << 20)

struct fork_request {
	uint32_t size; /* bytes of all texts */
	uint32_t argc;
	uint32_t envc;
	uint32_t umask;
	uint32_t ignored; /* a bit for each of the signals 1 to 31 that is ignored, from bit 1 on */
};

/*
 * Write to F what a process inherits beside descriptors, arguments and directory: users and rights, blocked signals, a tracer, limits, namespaces,
 * the root, and variables that a library reads when it is loaded. A fork of the server is like a start of the program only if these
 * are equal. Return false if the kernel does not tell.
 */
bool surroundings_print(FILE *f);

#endif
