/*
 * Messages between the collector and its helper: one packet each, of these layouts, cut after the
 * bytes in use.
 *
 * Both are the same program, so layouts agree. Yet neither trusts the other, because either may
 * have been taken over: lengths and counts are checked on arrival.
 */
#ifndef XEN_HELPER_MESSAGE_H
#define XEN_HELPER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "helper.h"

/* Questions that may be open at a time. */
#define HELPER_OPEN_MAX	    16u
#define HELPER_SENTENCE_MAX 256u

enum helper_kind { HELPER_READY = 1, HELPER_STATES, HELPER_CONSOLE };

struct helper_question {
	uint32_t kind;
	uint32_t n; /* domids, or bytes of the name */
	uint64_t tag;
	union {
		uint32_t domids[HELPER_DOMIDS_MAX];
		char name[HELPER_NAME_MAX];
	} body;
};

struct helper_reply {
	uint32_t kind;
	uint32_t n; /* states, or bytes of the log or of the sentence */
	uint64_t tag;
	int32_t error;
	uint32_t flag; /* READY: states are known; CONSOLE: complete */
	union {
		struct domain_state states[HELPER_DOMIDS_MAX];
		char console[HELPER_CONSOLE_MAX];
		char sentence[HELPER_SENTENCE_MAX];
	} body;
};

#define HELPER_QUESTION_HEAD offsetof(struct helper_question, body)
#define HELPER_REPLY_HEAD    offsetof(struct helper_reply, body)

/*
 * Run the helper in the forked process: answer on SOCKET until its other end is closed. Never
 * return.
 */
_Noreturn void helper_process(int socket, const char *console_logs);

#endif
