/* Make a thread of a trace JSON, and print it. */
#include <stdio.h>
#include <string.h>

#include "json-whole.h"
#include "json.h"
#include "thread-json.h"

/* The keys of this JSON are a public interface, which docs/man/mprofctl.1 describes. */

json_t *thread_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time)
{
	const struct mprof_thread *it;
	uint32_t label;
	json_t *object;

	if (thread == MPROF_NONE || (m->view->threads[thread].flags & MPROF_THREAD_ROOT))
		return json_null();
	it = &m->view->threads[thread];
	label = mprof_why_label(w, thread, time);
	object = json_pack("{sI ss so}", "thread", (json_int_t)it->id, "type", mprof_thread_type_name(it->type),
			   "label", modeller_string(m, label == MPROF_NONE ? MPROF_NONE : m->view->labels[label].text));
	if (m->names)
		json_add_member(&object, "stream", text_json(m->names[it->stream], strlen(m->names[it->stream])));
	return object;
}

void print_thread(const json_t *who)
{
	const char *label = json_string_value(answer_get(who, "label")),
		   *stream = json_string_value(answer_get(who, "stream"));

	if (!answer_get(who, "thread")) {
		fputs("the program itself", stdout);
		return;
	}
	printf("%" JSON_INTEGER_FORMAT " (%s", answer_count(who, "thread"), answer_string(who, "type"));
	if (label) {
		fputs(", \"", stdout);
		print_safe(label);
		putchar('"');
	}
	if (stream) {
		fputs(", of ", stdout);
		print_safe(stream);
	}
	putchar(')');
}
