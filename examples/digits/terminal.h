// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the example needs to know about where its output goes.

#ifndef TANDEM_EXAMPLES_DIGITS_TERMINAL_H_
#define TANDEM_EXAMPLES_DIGITS_TERMINAL_H_

#include <cstdio>

namespace digits {

// True if someone looks at `out`, false if it goes to a file or a pipe.
bool IsTerminal(std::FILE* out);

// Columns of the terminal behind `out`; 80 if there is none or it does not say.
int TerminalWidth(std::FILE* out);

// Whether the environment's locale (LC_ALL, LC_CTYPE, LANG: the first that is set) uses UTF-8.
bool LocaleIsUtf8();

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_TERMINAL_H_
