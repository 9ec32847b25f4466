// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TANDEM_DOC: documentation of ops, which is no part of a module that a page loads.

#ifndef TANDEM_CORE_OPS_OP_DOC_H_
#define TANDEM_CORE_OPS_OP_DOC_H_

// The text, a literal; empty in a small module (TANDEM_SMALL), where texts would be 11 KB after gzip.
#ifdef TANDEM_SMALL
#define TANDEM_DOC(...) ""
#else
#define TANDEM_DOC(...) __VA_ARGS__
#endif

#endif  // TANDEM_CORE_OPS_OP_DOC_H_
