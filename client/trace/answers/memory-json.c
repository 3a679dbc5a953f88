#include "memory-json.h"

void memory_put_function(struct mprof_json *j, const struct mprof_frame *frame)
{
	mprof_json_text(j, "function", frame->function, frame->function_bytes);
	if (frame->file)
		mprof_json_text(j, "file", frame->file, frame->file_bytes);
	else
		mprof_json_null(j, "file");
}

double memory_share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0.0;
}

uint64_t memory_all(const uint64_t of[3])
{
	return of[0] + of[1] + of[2];
}
