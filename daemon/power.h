/* SPDX-License-Identifier: MIT */
/* Where the device's power comes from. */
#pragma once

#include <stdbool.h>

#define POWER_SUPPLIES "/sys/class/power_supply"

/**
 * power_is_battery() - whether the device runs from a battery
 * @folder: POWER_SUPPLIES, or a test's
 *
 * It does if a battery of the system itself is being emptied
 * (Documentation/ABI/testing/sysfs-class-power). One that knows nothing of batteries has none.
 */
bool power_is_battery(const char *folder);
