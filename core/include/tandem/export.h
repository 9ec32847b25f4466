// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TANDEM_EXPORT: what other programs may use of a shared library; and which compilers the headers are for.

#ifndef TANDEM_EXPORT_H_
#define TANDEM_EXPORT_H_

// Nearly every public header includes this one: an older compiler hears it here, and not from what it fails at.
#if defined(__clang__)
#if __clang_major__ < 16 && !defined(__apple_build_version__)
#error "Tandem needs Clang 16 or later"
#endif
#elif defined(__GNUC__) && __GNUC__ < 12
#error "Tandem needs GCC 12 or later"
#endif
#if __cplusplus < 202002L
#error "Tandem needs C++20: compile with -std=c++20"
#endif

#if defined(__GNUC__)
#define TANDEM_EXPORT [[gnu::visibility("default")]]
#else
#define TANDEM_EXPORT
#endif

#endif  // TANDEM_EXPORT_H_
