/*
 * fleet-copy CONNECTION BYTES [HOST MONTH ARCHIVE CAPTURE STATE]...: copy captures of the hub, each of at most BYTES, and each to the
 * archive below its STATE. Print a line for each: the copy_condition or a negative errno, and its sentence. Exit with 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "copy.h"

int main(int argc, char **argv)
{
	CLEANUP(postgres_freep) struct postgres *p = NULL;

	if (argc < 3 || (argc - 3) % 5 != 0)
		return 100;
	if (postgres_new(&p, argv[1], "fleet-copy", 30000) < 0)
		return 101;
	if (postgres_connect(p) != 0) {
		puts(postgres_sentence(p));
		return 102;
	}
	for (int i = 3; i < argc; i += 5) {
		const struct capture_key key = {argv[i], argv[i + 1], argv[i + 2], strtoll(argv[i + 3], NULL, 10)};
		char sentence[512] = "";
		int r = capture_copy(p, &key, argv[i + 4], strtoull(argv[2], NULL, 10), sentence, sizeof(sentence));

		printf("%d %s\n", r, r != 0 ? sentence : "");
	}
	return 0;
}
