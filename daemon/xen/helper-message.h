/*
 * Messages between the collector and its helper. Each is one packet that has one of these layouts
 * and ends after the last used byte.
 *
 * Both processes run the same program, so the layouts agree. But neither trusts the other, because
 * an attacker may have taken over either of them: each checks the lengths and counts that it
 * receives.
 */
#ifndef XEN_HELPER_MESSAGE_H
#define XEN_HELPER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "helper.h"

/* Limit of questions that are not answered yet. */
#define HELPER_OPEN_MAX	    16u
#define HELPER_SENTENCE_MAX 256u

enum helper_kind { HELPER_READY = 1, HELPER_STATES, HELPER_CONSOLE, HELPER_VCPU };

struct helper_question {
	uint32_t kind;
	uint32_t n;   /* number of domids; or bytes of the name; VCPU: the domid, 0 = end */
	uint64_t tag; /* STATES, CONSOLE: any; VCPU: the slot */
	union {
		uint32_t domids[HELPER_DOMIDS_MAX];
		char name[HELPER_NAME_MAX];
	} body;
};

struct helper_reply {
	uint32_t kind;
	uint32_t n; /* number of states; or bytes of the log or the sentence; or number of vCPUs */
	uint64_t tag;
	int32_t error;
	uint32_t flag; /* READY: libxenctrl was found; CONSOLE: the log is not longer */
	union {
		struct domain_state states[HELPER_DOMIDS_MAX];
		char console[HELPER_CONSOLE_MAX];
		char sentence[HELPER_SENTENCE_MAX];
	} body;
};

#define HELPER_QUESTION_HEAD offsetof(struct helper_question, body)
#define HELPER_REPLY_HEAD    offsetof(struct helper_reply, body)

/*
 * Run the helper, in the forked process: answer questions on SOCKET until its other end is closed.
 * OPTIONS as in helper_start(). Does not return.
 */
_Noreturn void helper_process(int socket, const struct helper_options *options);

#endif
