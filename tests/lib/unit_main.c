// SPDX-License-Identifier: MIT
/* main() of programs that have none: a file of its own, so that it is linked only then. */
#include "unit.h"

int main(void)
{
	return unit_run(NULL, NULL);
}
