/*
 * Fuzz the reader of captures: its input, and the bytes of a guest in it. Whatever comes, it answers with a
 * reading that the server takes.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "reader-process.h"
#include "reading-result.h"
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in = memfd_create("input", MFD_CLOEXEC), out = memfd_create("answer", MFD_CLOEXEC);
	uint8_t answer[READER_ANSWER_MAX];
	struct reading_result r;
	ssize_t n;

	require(in >= 0 && out >= 0 && write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0);
	require(reading_run(in, out) == 0);
	n = pread(out, answer, sizeof(answer), 0);
	require(n > 0 && n < (ssize_t)sizeof(answer));
	require(reading_result_take(answer, (size_t)n, &r));
	require(!r.n_tails && (*r.failure || *r.sentence));
	reading_result_deinit(&r);
	close(in);
	close(out);
	return 0;
}
