/* Names of functions and variables, from those of the compiler. */
#include <dlfcn.h>

#include "check.h"
#include "demangle.h"

static const struct {
	const char *name;
	bool function;
	const char *plain;
} names[] = {
	{"worker", true, "worker()"},
	{"queue_lock", false, "queue_lock"},
	{"_Znonsense", true, "_Znonsense()"},
	{"_Z", false, "_Z"},
	{"", true, "()"},
	{"_ZL10model_lock", false, "model_lock"},
	{"_ZN4Pool4takeEv", true, "Pool::take()"},
	{"_ZN4Pool4takeEi", false, "Pool::take()"},
	{"_ZNK4Pool4sizeEv", true, "Pool::size()"},
	/* The template's result, and its arguments if they are long. */
	{"_ZSt3maxIiERKT_S2_S2_", true, "std::max<int>()"},
	{"_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_"
	 "IlS3_ILl1ELl1000000000EEEE",
	 true, "std::__atomic_futex_unsigned_base::_M_futex_wait_until()"},
	{"_ZNSt6threadC2IRFvvEJEvEEOT_DpOT0_", true, "std::thread::thread<void (&)(), , void>()"},
	/* An anonymous namespace, a lambda, and operators. */
	{"_ZN12_GLOBAL__N_14loadEv", true, "(anonymous namespace)::load()"},
	{"_ZZ4mainENKUlvE_clEv", true, "main::{lambda()#1}::operator()()"},
	{"_ZNK3FooltERKS_", true, "Foo::operator<()"},
	/* Rust's first form. */
	{"_ZN4pool6worker3run17h0123456789abcdefE", true, "pool::worker::run()"},
	{"_ZN4pool6worker3run17h0123456789abcdegE", true, "pool::worker::run::h0123456789abcdeg()"},
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[128];

		demangle(names[i].name, names[i].function, text, sizeof(text));
		CHECK_EQ_STR(text, names[i].plain);
	}
}

/* The text ends where its memory does. */
static void test_long(void)
{
	char text[8];

	demangle("_ZN4Pool4takeEv", true, text, sizeof(text));
	CHECK_EQ_STR(text, "Pool::t");
	demangle("a_long_name", true, text, sizeof(text));
	CHECK_EQ_STR(text, "a_long_");
}

int main(void)
{
	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		return check_skip("the machine has no library of C++");
	CHECK_RUN(test_names);
	CHECK_RUN(test_long);
	return check_done();
}
