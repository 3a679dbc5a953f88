/* What an export is called that nobody gave a name. */
#include <string.h>

#include "exporter.h"
#include "scope.h"
#include "target.h"

char *export_path(const char *operand, const char *suffix)
{
	static const char *const endings[] = {".gz", ".xz", ".zst", ".tar", ".ctf", ".sexp"};
	SCOPED(freep) char *name = NULL;
	struct target t;
	const char *slash;
	size_t i, len, n;

	target_parse(&t, operand, true);
	if (t.kind == TARGET_STDIN)
		t.name = "trace";
	for (len = strlen(t.name); t.kind == TARGET_FILE && len > 1 && t.name[len - 1] == '/'; len--)
		;
	slash = t.kind == TARGET_FILE ? memrchr(t.name, '/', len) : NULL;
	name = slash ? strndup(slash + 1, len - (size_t)(slash + 1 - t.name)) : strndup(t.name, len);
	for (i = 0, len = name ? strlen(name) : 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		n = strlen(endings[i]);
		if (t.kind == TARGET_FILE && len > n && strcmp(name + len - n, endings[i]) == 0)
			name[len -= n] = 0;
	}
	t.name = name;
	return name ? target_file_name(&t, suffix) : NULL;
}
