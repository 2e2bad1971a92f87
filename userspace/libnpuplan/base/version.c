// SPDX-License-Identifier: MIT
/* npuplan_version(): the version of the package that the library was built as. */
#include "npuplan.h"

const char *npuplan_version(void)
{
	return NPUMEM_PACKAGE_VERSION;
}
