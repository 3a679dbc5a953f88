#include "answer-json.h"

#include <mprof/why.h>

const char *answer_bytes_of(const struct mprof_model_view *v, uint32_t i, size_t *bytes)
{
	*bytes = i == MPROF_NONE ? 0 : v->strings[i].bytes;
	if (i == MPROF_NONE)
		return NULL;
	return *bytes ? v->text + v->strings[i].offset : "";
}

void answer_put_count(struct mprof_json *j, const char *key, uint64_t n)
{
	mprof_json_number(j, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

void answer_put_string(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t i)
{
	size_t bytes;
	const char *text = answer_bytes_of(t->view, i, &bytes);

	if (text)
		mprof_json_text(j, key, text, bytes);
	else
		mprof_json_null(j, key);
}

bool answer_names(const struct answer_trace *t, uint32_t thread)
{
	return thread != MPROF_NONE && !(t->view->threads[thread].flags & MPROF_THREAD_ROOT);
}

void answer_put_members(const struct answer_trace *t, struct mprof_json *j, uint32_t thread, uint64_t time)
{
	const struct mprof_thread *it = &t->view->threads[thread];
	uint32_t label = mprof_why_label(t->why, thread, time);

	if (t->indexed)
		mprof_json_number(j, "index", thread);
	mprof_json_number(j, "thread", it->id);
	mprof_json_word(j, "type", mprof_thread_type_name(it->type));
	answer_put_string(t, j, "label", label == MPROF_NONE ? MPROF_NONE : t->view->labels[label].text);
	if (t->streams)
		mprof_json_word(j, "stream", t->streams[it->stream]);
}

void answer_put_thread(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t thread,
		       uint64_t time)
{
	if (!answer_names(t, thread)) {
		mprof_json_null(j, key);
		return;
	}
	mprof_json_open(j, key, '{');
	answer_put_members(t, j, thread, time);
	mprof_json_close(j, '}');
}

void answer_put_coverage(const struct answer_trace *t, struct mprof_json *j, const char *key,
			 const struct mprof_coverage *c)
{
	if (c->hole == MPROF_HOLE_NONE) {
		mprof_json_null(j, key);
		return;
	}
	mprof_json_open(j, key, '{');
	mprof_json_word(j, "hole", mprof_hole_name(c->hole));
	mprof_json_time(j, "from_ns", c->from);
	mprof_json_time(j, "to_ns", c->to);
	if (t->streams)
		mprof_json_word(j, "stream", t->streams[c->stream]);
	mprof_json_close(j, '}');
}

static void put_piece(struct mprof_json *j, const char *text, const struct mprof_explanation_piece *piece)
{
	mprof_json_open(j, NULL, '{');
	mprof_json_text(j, "text", text + piece->offset, piece->bytes);
	if (piece->thread != MPROF_NONE)
		mprof_json_number(j, "link", piece->thread);
	if (piece->time != MPROF_EXPLANATION_UNTIMED)
		mprof_json_time(j, "time_ns", piece->time);
	mprof_json_close(j, '}');
}

enum mprof_status answer_put_story(const struct answer_trace *t, struct mprof_json *j, const char *key,
				   enum mprof_status status)
{
	const struct mprof_explanation_piece *pieces;
	const char *text = mprof_explanation_text(t->explanation);
	uint32_t n, line = UINT32_MAX;

	if (status != MPROF_OK)
		return status;
	pieces = mprof_explanation_pieces(t->explanation, &n);
	mprof_json_open(j, key, '[');
	for (uint32_t i = 0; i < n; i++) {
		if (pieces[i].line != line) {
			if (i)
				mprof_json_close(j, ']');
			mprof_json_open(j, NULL, '[');
		}
		line = pieces[i].line;
		put_piece(j, text, &pieces[i]);
	}
	if (n)
		mprof_json_close(j, ']');
	mprof_json_close(j, ']');
	return MPROF_OK;
}
