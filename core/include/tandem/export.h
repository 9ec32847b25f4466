// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TANDEM_EXPORT: marks what other programs may use; everything else of Tandem's shared library is hidden in it.

#ifndef TANDEM_EXPORT_H_
#define TANDEM_EXPORT_H_

// On every class, function and constant of a public header that has a definition in a source, a vtable, or an address
// that counts. Templates and what is defined in the header whole need none.
#if defined(__GNUC__)
#define TANDEM_EXPORT [[gnu::visibility("default")]]
#else
#define TANDEM_EXPORT
#endif

#endif  // TANDEM_EXPORT_H_
