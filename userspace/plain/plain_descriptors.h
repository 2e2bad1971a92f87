/* SPDX-License-Identifier: MIT */
/* Standard descriptors, which a program may be started without. */
#pragma once

/**
 * plain_descriptors() - have something at descriptors 0 to 2
 *
 * Where one is closed, the next file that is opened would be at its number: a socket, a device or
 * an output file, into which messages went then. To be called before anything else in main().
 * What was closed stays as good as that: reading and writing it is EBADF, as for set-user-ID
 * programs of glibc. If that cannot be, the program is aborted.
 */
void plain_descriptors(void);
