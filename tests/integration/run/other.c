/* A program that mprof-run does not record: linked statically, or marked as Go's linker does. */
#include <unistd.h>

#ifdef AS_GO
__attribute__((section(".go.buildinfo"), used)) static const char build_info[] = "go";
#endif

/* With an argument it waits for ever. */
int main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? pause() : 5;
}
