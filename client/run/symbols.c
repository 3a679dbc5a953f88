/* Names of addresses, by elfutils' libdw. */
#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEPT	   256u
#define KEPT_BYTES 192u

/*
 * libdw looks at each symbol of a file to find that of an address, which takes a millisecond in a large
 * program. Each lock on the heap is named by the place that first waits for it, and places are few, so
 * the texts of the last ones are kept.
 */
struct kept {
	uint64_t address; /* 0 = none */
	char text[KEPT_BYTES];
};

struct symbols {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *path; /* where debug information is looked for; libdwfl reads it */
	pid_t pid;
	struct kept kept[KEPT]; /* by a hash of the address */
};

/* Read the memory map again: the process may have loaded libraries since. */
static void symbols_refresh(struct symbols *s)
{
	/* If the process has gone, the modules that are known stay. */
	dwfl_report_begin_add(s->dwfl);
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
	s->dwfl = dwfl_begin(&s->callbacks);
	if (!s->dwfl)
		return symbols_free(s);
	symbols_refresh(s);
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

/*
 * Write the name of the innermost function at ADDRESS to NAME, as the debug information has it: the
 * compiler may have put the function into its caller. Return false without debug information.
 */
static bool function_name(Dwfl_Module *m, uint64_t address, char *name, size_t size)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(m, address, &bias), *scopes = NULL;
	int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *of = dwarf_diename(&scopes[i]);

		found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram) && of;
		if (found)
			snprintf(name, size, "%s", of);
	}
	free(scopes);
	return found;
}

/* Write to TEXT which code of the module M is at ADDRESS. */
static void describe(Dwfl_Module *m, uint64_t address, char *text, size_t size)
{
	Dwfl_Line *line;
	const char *symbol, *file;
	char function[128];
	int number = 0;
	size_t n;

	symbol = dwfl_module_addrname(m, address);
	if (function_name(m, address, function, sizeof(function)))
		snprintf(text, size, "%s()", function);
	else if (symbol)
		snprintf(text, size, "%s()", symbol);
	else
		module_text(m, address, text, size);
	line = dwfl_module_getsrc(m, address);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	n = strlen(text);
	if (file && n < size)
		snprintf(text + n, size - n, " at %s:%d", base_name(file), number);
}

void symbols_code(struct symbols *s, uint64_t address, char *text, size_t size)
{
	struct kept *k = &s->kept[(address ^ address >> 8) % KEPT];
	Dwfl_Module *m;

	snprintf(text, size, "0x%" PRIx64, address);
	if (k->address != address || !address) {
		m = module_at(s, address);
		if (!m)
			return;
		describe(m, address, k->text, sizeof(k->text));
		k->address = address;
	}
	snprintf(text, size, "%s", k->text);
}

bool symbols_data(struct symbols *s, uint64_t address, char *text, size_t size)
{
	Dwfl_Module *m = module_of_data(s, address);
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name;

	if (!m)
		return false;
	name = dwfl_module_addrinfo(m, address, &offset, &symbol, NULL, NULL, NULL);
	if (name && offset < symbol.st_size && offset)
		snprintf(text, size, "%s+%" PRIu64, name, (uint64_t)offset);
	else if (name && offset < symbol.st_size)
		snprintf(text, size, "%s", name);
	else
		module_text(m, address, text, size);
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
	fprintf(context, "%s %s\n", n > 0 ? "" : "-", name);
	return DWARF_CB_OK;
}

void symbols_list(struct symbols *s, FILE *f)
{
	dwfl_getmodules(s->dwfl, list_module, f, 0);
}
