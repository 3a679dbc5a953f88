/* Errors as problem documents.  The type is about:blank: the status says what kind it is, the detail says what to do. */
#include "problem.h"

const char *problem_title(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
		{400, "Bad Request"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{409, "Conflict"},
		{410, "Gone"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{416, "Range Not Satisfiable"},
		{421, "Misdirected Request"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

/* Make DETAIL a string.  Where it is not UTF-8, as when a name in it was cut inside a character, '?' stands for each byte beyond ASCII. */
static json_t *detail_json(const char *detail)
{
	json_t *string = json_string(detail);
	char ascii[1024];
	size_t n = 0;

	if (string)
		return string;
	for (; n < sizeof(ascii) - 1 && detail[n]; n++)
		ascii[n] = (unsigned char)detail[n] < 0x80 ? detail[n] : '?';
	ascii[n] = '\0';
	return json_string(ascii);
}

json_t *problem_json(unsigned status, const char *detail, json_t *more)
{
	json_t *problem = json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", problem_title(status),
				    "status", (int)status, "detail", detail_json(detail));

	if (problem && more)
		json_object_update(problem, more);
	json_decref(more);
	return problem;
}
