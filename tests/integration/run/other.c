/* A program that mprof-run does not record: linked statically, or marked as Go's linker does. */
#ifdef AS_GO
__attribute__((section(".go.buildinfo"), used)) static const char build_info[] = "go";
#endif

int main(void)
{
	return 5;
}
