// SPDX-License-Identifier: MIT
#include "npuplan.h"

const char *npuplan_version(void)
{
	return NPUMEM_PACKAGE_VERSION;
}
