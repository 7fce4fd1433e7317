/* A library of which there are two builds. */
#include "elsewhere.h"

unsigned long work(unsigned long n);

unsigned long work(unsigned long n)
{
	return WHICH(n) + 1;
}
