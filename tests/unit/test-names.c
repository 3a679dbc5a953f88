/*
 * Names that come from outside: they are made printable whatever bytes they have, and different
 * names stay different.
 */
#include <stdlib.h>

#include "check.h"
#include "printable.h"

static void same(const char *text, const char *want)
{
	char *got = text_printable(text);

	CHECK_EQ_STR(got, want);
	free(got);
}

static void test_names(void)
{
	same("", "");
	same("web-1", "web-1");
	same("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xab", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xab");
	same("a\nb\x1b[31m", "a\\x0ab\\x1b[31m");
	same("back\\slash", "back\\\\slash");
	same("\xff\xfe", "\\xff\\xfe");
	same("\xc3", "\\xc3");			 /* cut */
	same("\xc0\xaf", "\\xc0\\xaf");		 /* overlong */
	same("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half a surrogate pair */
	same("\xe2\x80\xae"
	     "drow",
	     "\\xe2\\x80\\xaedrow"); /* makes the text behind it run from right to left */
	same("\xc2\x9b"
	     "31m",
	     "\\xc2\\x9b31m"); /* a terminal's control sequence in one character */
}

int main(void)
{
	CHECK_RUN(test_names);
	return check_done();
}
