/* Rings in files: the primitive of mProf_unix.ml. */
#define CAML_NAME_SPACE
#include <stdio.h>
#include <string.h>

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/fail.h>
#include <caml/mlvalues.h>

#include <mprof/recorder-file.h>

/* string -> int -> log_buffer: a new file, mapped. The mapping stays until the process ends. */
CAMLprim value mprof_ocaml_file(value path, value size)
{
	struct mprof_recorder_file file;
	intnat bytes = Long_val(size);
	int r;

	if (!caml_string_is_c_safe(path) || bytes < 1)
		caml_invalid_argument("MProf_unix.mmap_buffer");
	r = mprof_recorder_file_open(&file, String_val(path), (size_t)bytes);
	if (r < 0) {
		char text[400];

		snprintf(text, sizeof(text), "MProf_unix.mmap_buffer: %.300s: %s", String_val(path), strerror(-r));
		caml_failwith(text);
	}
	return caml_ba_alloc_dims(CAML_BA_CHAR | CAML_BA_C_LAYOUT | CAML_BA_EXTERNAL, 1, file.memory, bytes);
}
