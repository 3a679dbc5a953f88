/* `mprofctl follow`: a trace as it grows, into a file or a pipe. */
#include <stdio.h>

#include "follow.h"
#include "options.h"
#include "output.h"
#include "scope.h"

static void output_closep(struct output *out)
{
	output_close(out);
}

static int follow_write(void *data, const uint8_t *bytes, size_t len)
{
	return output_write(data, bytes, len);
}

int cmd_follow(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(http_close) struct http h = {.signals = -1};
	SCOPED(output_closep) struct output out = {.fd = -1};
	struct follow_ops ops = {.write = follow_write, .data = &out};
	struct selection s = {0};
	const char *file = NULL;
	const struct option_def defs[] = {
		{"--output", "-o", &file, NULL}, {"--run", NULL, &s.run, NULL}, {"--stream", NULL, &s.stream, NULL}};
	struct operands left;
	struct target t;
	int r = options_parse(argc, argv, defs, 3, &left, 1, 1);

	r = r ? r : selection_check(&s, argv[0]);
	if (r)
		return r;
	if (target_parse(&t, left.at[0], false) && t.kind == TARGET_CAPTURE)
		return say_usage(argv[0], "a capture does not grow: fetch it, or follow a domain");
	r = target_check(&t, &s, argv[0]);
	r = r ? r : http_open(&h, ctl->host);
	r = r ? r : output_open(&out, file ? file : "-", OUTPUT_DIRECT, argv[0]);
	if (r)
		return r;
	if (!http_catch_signals(&h))
		return say_memory();
	r = follow_run(&h, &t, &s, &ops);
	return ops.refused ? output_complain(&out, -ops.refused) : r;
}
