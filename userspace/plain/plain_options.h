/* SPDX-License-Identifier: MIT */
/* Command lines whose mistakes getopt would print as they are, with what a terminal obeys. */
#pragma once

#include <argp.h>

/**
 * plain_options() - end with argp_err_exit_status if an option is none and cannot be said as it is
 * @argp: whose help is named then
 * @argc: of main()
 * @argv: of main()
 *
 * No option has control characters in its name. To be called before argp_parse().
 */
void plain_options(const struct argp *argp, int argc, char **argv);
