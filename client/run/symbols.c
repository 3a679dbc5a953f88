/* Names of addresses, by elfutils' libdw. */
#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "demangle.h"
#include "directory.h"
#include "memory-stream.h"
#include "unwind.h"

#define MODULES	   ".modules" /* file in the directory of the rings */
#define KEPT	   256u
#define KEPT_BYTES 192u
#define FRAMES	   64u /* of a stack that are looked at */

/*
 * libdw looks at each symbol of a file to find that of an address, which takes a millisecond in a large
 * program. Each lock on the heap is named by the place that first waits for it, and places are few, so
 * the texts of the last ones are kept.
 */
struct kept {
	uint64_t address; /* 0 = none */
	bool own;	  /* the code is the program's, and not that of a language's library */
	char text[KEPT_BYTES];
};

struct symbols {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *path; /* where debug information is looked for; libdwfl reads it */
	pid_t pid;
	bool unwinds;		/* stacks can be followed */
	bool elsewhere;		/* the process has another mount namespace: its files are found below its root */
	struct kept kept[KEPT]; /* by a hash of the address */
};

/* Return whether the process PID has another mount namespace than this one. */
static bool is_elsewhere(pid_t pid)
{
	char path[64];
	struct stat own, other;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return stat("/proc/self/ns/mnt", &own) == 0 && stat(path, &other) == 0 &&
	       (own.st_dev != other.st_dev || own.st_ino != other.st_ino);
}

/* Report the files of the memory map below the root of their process. */
static void report_elsewhere(struct symbols *s)
{
	char path[64], line[4096 + 128], *text = NULL;
	size_t bytes = 0;
	FILE *map, *named;
	const char *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	map = fopen(path, "re");
	named = map ? open_memstream(&text, &bytes) : NULL;
	while (named && fgets(line, sizeof(line), map)) {
		file = strchr(line, '/');
		if (file)
			fprintf(named, "%.*s/proc/%d/root%s", (int)(file - line), line, (int)s->pid, file);
		else
			fputs(line, named);
	}
	if (map)
		fclose(map);
	if (!named || !memory_stream_close(named, &text)) {
		free(text);
		return;
	}
	map = bytes ? fmemopen(text, bytes, "r") : NULL;
	if (map) {
		dwfl_linux_proc_maps_report(s->dwfl, map);
		fclose(map);
	}
	free(text);
}

/* Read the memory map again: the process may have loaded libraries since. */
static void symbols_refresh(struct symbols *s)
{
	/* If the process has gone, the modules that are known stay. */
	dwfl_report_begin_add(s->dwfl);
	if (s->elsewhere)
		report_elsewhere(s);
	else
		dwfl_linux_proc_report(s->dwfl, s->pid);
	dwfl_report_end(s->dwfl, NULL, NULL);
}

struct symbols *symbols_new(pid_t pid)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->callbacks.find_elf = dwfl_linux_proc_find_elf;
	s->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
	s->callbacks.debuginfo_path = &s->path;
	s->pid = pid;
	s->elsewhere = is_elsewhere(pid);
	s->dwfl = dwfl_begin(&s->callbacks);
	if (!s->dwfl)
		return symbols_free(s);
	symbols_refresh(s);
	s->unwinds = unwind_prepare(s->dwfl, pid);
	return s;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
	return NULL;
}

static Dwfl_Module *module_at(struct symbols *s, uint64_t address)
{
	Dwfl_Module *m = dwfl_addrmodule(s->dwfl, address);

	if (m)
		return m;
	symbols_refresh(s);
	return dwfl_addrmodule(s->dwfl, address);
}

/* A search for the module that has ADDRESS in one of its segments. */
struct search {
	uint64_t address;
	Dwfl_Module *found;
};

static int search_module(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr start, void *context)
{
	struct search *s = context;
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(m, &bias);
	GElf_Phdr segment;
	size_t n = 0;

	(void)data;
	(void)name;
	(void)start;
	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return DWARF_CB_OK;
	for (int i = 0; i < (int)n; i++) {
		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_LOAD ||
		    s->address - bias - segment.p_vaddr >= segment.p_memsz)
			continue;
		s->found = m;
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

/* Variables without a value in the file lie behind what is mapped of the file. */
static Dwfl_Module *module_of_data(struct symbols *s, uint64_t address)
{
	struct search search = {.address = address, .found = dwfl_addrmodule(s->dwfl, address)};

	if (!search.found)
		dwfl_getmodules(s->dwfl, search_module, &search, 0);
	return search.found;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* Write the module's file and the offset of ADDRESS in it. */
static void module_text(Dwfl_Module *m, uint64_t address, char *text, size_t size)
{
	Dwarf_Addr start = 0;
	const char *name = dwfl_module_info(m, NULL, &start, NULL, NULL, NULL, NULL, NULL);

	snprintf(text, size, "%s+0x%" PRIx64, name ? base_name(name) : "?", address - start);
}

/* Return whether the module M is a language's library or interpreter, or what lies between these and the kernel. */
static bool is_language(Dwfl_Module *m)
{
	static const char *const files[] = {
		"libc.so",  "libc-2.",	     "libpthread", "libm.so",	"libstdc++.", "libc++",	 "libgcc_s.",
		"ld-linux", "libmprof-run.", "libasan.",   "libtsan.",	"libubsan.",  "libjvm.", "libjava.",
		"libnio.",  "libnet.",	     "java",	   "libpython", "python2",    "python3", "libruby",
		"ruby",	    "libperl.",	     "perl",	   "node",	"libnode.",   "[vdso",
	};
	const char *name = base_name(dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL));

	for (size_t i = 0; name && i < sizeof(files) / sizeof(*files); i++)
		if (strncmp(name, files[i], strlen(files[i])) == 0)
			return true;
	return false;
}

/* Return whether the source FILE, which may be NULL, is the library of a language. */
static bool is_language_source(const char *file)
{
	return file &&
	       (strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0 ||
		strncmp(file, "/rustc/", 7) == 0 || strstr(file, "/rust/library/") || strstr(file, "/libstdc++-v3/"));
}

/* A place in the source. */
struct line {
	const char *file; /* NULL = unknown */
	int number;
};

/* The innermost line of the code at ADDRESS. */
static struct line line_at(Dwfl_Module *m, uint64_t address)
{
	struct line at = {0};
	Dwfl_Line *line = dwfl_module_getsrc(m, address);

	if (line)
		at.file = dwfl_lineinfo(line, NULL, &at.number, NULL, NULL, NULL);
	return at;
}

/* The line on which the function INLINED, which the compiler has put into its caller, is called. */
static struct line line_of_call(Dwarf_Die *inlined)
{
	Dwarf_Die unit;
	Dwarf_Files *files;
	Dwarf_Attribute a;
	Dwarf_Word file = 0, number = 0;
	size_t n = 0;
	struct line at = {0};

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &a), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &a), &number) != 0 ||
	    !dwarf_diecu(inlined, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &n) != 0 || file >= n)
		return at;
	at.file = dwarf_filesrc(files, file, NULL, NULL);
	at.number = (int)number;
	return at;
}

/* Write the function FUNCTION, which waits at LINE, to TEXT. */
static void function_describe(Dwarf_Die *function, struct line line, char *text, size_t size)
{
	Dwarf_Attribute a;
	const char *name = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &a));
	size_t n;

	/* Only names of C++ and of Rust's first form can be read back. */
	if (!name || strncmp(name, "_Z", 2) != 0)
		name = dwarf_diename(function);
	demangle(name ? name : "?", true, text, size);
	n = strlen(text);
	if (line.file && n < size)
		snprintf(text + n, size - n, " at %s:%d", base_name(line.file), line.number);
}

/*
 * Write to TEXT which function at ADDRESS the debug information has: the innermost one of the program that the compiler
 * has put there, or the innermost one of all. Set *OWN to whether it is the former. Return false without debug
 * information.
 */
static bool debug_describe(Dwfl_Module *m, uint64_t address, char *text, size_t size, bool *own)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(m, address, &bias), *scopes = NULL, *around = NULL;
	struct line line = line_at(m, address);
	bool found = false, language = is_language(m);
	int n = unit && dwarf_getscopes(unit, address - bias, &scopes) > 0 ? dwarf_getscopes_die(&scopes[0], &around)
									   : 0;

	*own = false;
	for (int i = 0; i < n && !*own; i++) {
		int tag = dwarf_tag(&around[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		*own = !language && !is_language_source(dwarf_decl_file(&around[i]));
		if (!found || *own)
			function_describe(&around[i], line, text, size);
		found = true;
		if (tag == DW_TAG_inlined_subroutine)
			line = line_of_call(&around[i]);
	}
	free(scopes);
	free(around);
	return found;
}

/* Write to TEXT which code of the module M is at ADDRESS. Return whether it is the program's own. */
static bool describe(Dwfl_Module *m, uint64_t address, char *text, size_t size)
{
	const char *symbol;
	struct line line;
	size_t n;
	bool own;

	if (debug_describe(m, address, text, size, &own))
		return own;
	symbol = dwfl_module_addrname(m, address);
	if (symbol)
		demangle(symbol, true, text, size);
	else
		module_text(m, address, text, size);
	line = line_at(m, address);
	n = strlen(text);
	if (line.file && n < size)
		snprintf(text + n, size - n, " at %s:%d", base_name(line.file), line.number);
	return !is_language(m) && strncmp(text, "std::", 5) != 0;
}

/* Return what is known of the code at ADDRESS, or NULL if that is in no file. */
static const struct kept *code_at(struct symbols *s, uint64_t address)
{
	struct kept *k = &s->kept[(address ^ address >> 8) % KEPT];
	Dwfl_Module *m;

	if (k->address == address && address)
		return k;
	m = module_at(s, address);
	if (!m)
		return NULL;
	k->own = describe(m, address, k->text, sizeof(k->text));
	k->address = address;
	return k;
}

bool symbols_code(struct symbols *s, uint64_t address, char *text, size_t size)
{
	const struct kept *k = code_at(s, address);

	if (k)
		snprintf(text, size, "%s", k->text);
	else
		snprintf(text, size, "0x%" PRIx64, address);
	return k && k->own;
}

bool symbols_caller(struct symbols *s, const struct stack_copy *copy, char *text, size_t size)
{
	uint64_t calls[FRAMES];
	uint32_t n = s->unwinds ? unwind(s->dwfl, copy, calls, FRAMES) : 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct kept *k = code_at(s, calls[i]);

		if (!k || !k->own)
			continue;
		snprintf(text, size, "%s", k->text);
		return true;
	}
	return false;
}

uint32_t symbols_calls(struct symbols *s, const struct stack_copy *copy, uint64_t *calls, uint32_t most)
{
	return s->unwinds ? unwind(s->dwfl, copy, calls, most) : 0;
}

static bool is_c_library(Dwfl_Module *m)
{
	const char *name = base_name(dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL));

	return name && (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
			strncmp(name, "libpthread", 10) == 0);
}

bool symbols_library(struct symbols *s, uint64_t address, char *name, size_t size)
{
	Dwfl_Module *m = module_at(s, address);
	const char *symbol = m && is_c_library(m) ? dwfl_module_addrname(m, address) : NULL;

	while (symbol && *symbol == '_')
		symbol++;
	snprintf(name, size, "%.*s", symbol ? (int)strcspn(symbol, "@") : 0, symbol ? symbol : "");
	return m && is_c_library(m);
}

/* Find the version in the bytes of glibc's file, which says it in a sentence. */
static int search_glibc(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr start, void *context)
{
	static const char sentence[] = "stable release version 2.";
	GElf_Addr bias;
	Elf *elf = is_c_library(m) ? dwfl_module_getelf(m, &bias) : NULL;
	size_t n = 0;
	const char *file = elf ? elf_rawfile(elf, &n) : NULL;
	const char *found = file ? memmem(file, n, sentence, sizeof(sentence) - 1) : NULL;
	uint32_t minor = 0;

	(void)data;
	(void)name;
	(void)start;
	if (!found)
		return DWARF_CB_OK;
	for (found += sizeof(sentence) - 1; found < file + n && *found >= '0' && *found <= '9' && minor < 1000; found++)
		minor = minor * 10 + (uint32_t)(*found - '0');
	*(uint32_t *)context = minor;
	return DWARF_CB_ABORT;
}

uint32_t symbols_glibc(struct symbols *s)
{
	uint32_t minor = 0;

	dwfl_getmodules(s->dwfl, search_glibc, &minor, 0);
	return minor;
}

bool symbols_data(struct symbols *s, uint64_t address, char *text, size_t size)
{
	Dwfl_Module *m = module_of_data(s, address);
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name;
	size_t n;

	if (!m)
		return false;
	name = dwfl_module_addrinfo(m, address, &offset, &symbol, NULL, NULL, NULL);
	if (!name || offset >= symbol.st_size) {
		module_text(m, address, text, size);
		return true;
	}
	demangle(name, false, text, size);
	n = strlen(text);
	if (offset && n < size)
		snprintf(text + n, size - n, "+%" PRIu64, (uint64_t)offset);
	return true;
}

static int list_module(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr start, void *context)
{
	const unsigned char *id = NULL;
	GElf_Addr at;
	Dwarf_Addr end = 0;
	GElf_Addr bias;
	int n;

	(void)data;
	dwfl_module_info(m, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	/* The file must be open before its build id is known. */
	dwfl_module_getelf(m, &bias);
	n = dwfl_module_build_id(m, &id, &at);
	fprintf(context, "%" PRIx64 " %" PRIx64 " ", (uint64_t)start, (uint64_t)end);
	for (int i = 0; i < n; i++)
		fprintf(context, "%02x", id[i]);
	fputs(n > 0 ? " " : "- ", context);
	directory_text(context, name);
	fputc('\n', context);
	return DWARF_CB_OK;
}

int symbols_list(struct symbols *s, int fd)
{
	FILE *f = directory_file(fd, MODULES);

	if (f)
		dwfl_getmodules(s->dwfl, list_module, f, 0);
	return directory_file_end(fd, MODULES, f);
}
