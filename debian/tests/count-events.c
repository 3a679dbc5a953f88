/* Print the number of events of the trace in the standard input. Exit with 1 if it is damaged. */
#include <stdio.h>

#include <mprof/trace.h>

int main(void)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event event;
	enum mprof_status status;
	unsigned long events = 0;
	static char bytes[1 << 16];
	size_t n;

	do {
		n = fread(bytes, 1, sizeof(bytes), stdin);
		if (n)
			mprof_decoder_feed(d, bytes, n);
		else
			mprof_decoder_finish(d);
		while ((status = mprof_decoder_next(d, &event)) == MPROF_OK)
			events++;
	} while (status == MPROF_MORE);
	mprof_decoder_free(d);
	printf("%lu\n", events);
	return status != MPROF_END;
}
