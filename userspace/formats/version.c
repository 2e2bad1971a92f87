// SPDX-License-Identifier: MIT
#include "npuimport.h"

const char *npuimport_version(void)
{
	return NPUMEM_PACKAGE_VERSION;
}
