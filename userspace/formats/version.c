// SPDX-License-Identifier: MIT
/* Which version of libnpuimport this is. */
#include "npuimport.h"

const char *npuimport_version(void)
{
	return NPUMEM_PACKAGE_VERSION;
}
