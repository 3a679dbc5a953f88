/* The keys are an interface: docs/man/mprofctl.1 lists them. */
#include "who.h"

#include <string.h>

#include "text-json.h"

json_t *who_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time)
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
		json_object_set_new(object, "stream", text_json(m->names[it->stream], strlen(m->names[it->stream])));
	return object;
}
