/* The state of the host's clock, from what the kernel says. */
#include "check.h"
#include "host-clock.h"

static void test_known(void)
{
	char text[HOST_CLOCK_BYTES];
	struct timex t = {.status = STA_PLL | STA_NANO, .offset = -1500, .maxerror = 250};

	CHECK(host_clock_text(&t, TIME_OK, text));
	CHECK_EQ_STR(text, "{\"offset_ns\": -1500, \"uncertainty_ns\": 250000, \"source\": \"the kernel, by NTP\"}");
	t.status = STA_PLL;
	CHECK(host_clock_text(&t, TIME_INS, text));
	CHECK_EQ_STR(text, "{\"offset_ns\": -1500000, \"uncertainty_ns\": 250000, \"source\": \"the kernel, by NTP\"}");
	t = (struct timex){.status = STA_PPSTIME | STA_NANO, .maxerror = 16000000};
	CHECK(host_clock_text(&t, TIME_OK, text));
	CHECK_EQ_STR(
		text,
		"{\"offset_ns\": 0, \"uncertainty_ns\": 16000000000, \"source\": \"the kernel, by a PPS signal\"}");
}

static void test_unknown(void)
{
	char text[HOST_CLOCK_BYTES];
	struct timex t = {.status = STA_PLL | STA_UNSYNC};

	CHECK(!host_clock_text(&t, TIME_ERROR, text));
	CHECK_EQ_STR(text, "");
	CHECK(!host_clock_text(&t, TIME_OK, text));
	t.status = STA_PLL;
	CHECK(!host_clock_text(&t, -1, text));
	CHECK(!host_clock_text(&t, TIME_ERROR, text));
	t.maxerror = -1;
	CHECK(!host_clock_text(&t, TIME_OK, text));
}

/* The kernel answers, whatever it says. */
static void test_now(void)
{
	char text[HOST_CLOCK_BYTES];
	bool known = host_clock_now(text);

	CHECK(known == (text[0] == '{'));
}

int main(void)
{
	CHECK_RUN(test_known);
	CHECK_RUN(test_unknown);
	CHECK_RUN(test_now);
	return check_done();
}
