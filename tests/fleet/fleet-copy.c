/*
 * fleet-copy CONNECTION HOST MONTH ARCHIVE CAPTURE STATE BYTES: copy a capture of the hub to the archive
 * below STATE. Exit with the copy_condition, after its sentence.
 */
#include <stdio.h>
#include <stdlib.h>

#include "copy.h"

int main(int argc, char **argv)
{
	CLEANUP(postgres_freep) struct postgres *p = NULL;
	char sentence[512] = "";
	int r;

	if (argc != 8)
		return 100;
	const struct capture_key key = {argv[2], argv[3], argv[4], strtoll(argv[5], NULL, 10)};

	if (postgres_new(&p, argv[1], "fleet-copy", 30000) < 0)
		return 101;
	if (postgres_connect(p) != 0) {
		puts(postgres_sentence(p));
		return 102;
	}
	r = capture_copy(p, &key, argv[6], strtoull(argv[7], NULL, 10), sentence, sizeof(sentence));
	if (r != 0)
		puts(sentence);
	return r < 0 ? 103 : r;
}
