// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Asks the system about terminals and the environment about the locale.

#include "digits/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace digits {

bool IsTerminal(std::FILE* out) { return isatty(fileno(out)) == 1; }

int TerminalWidth(std::FILE* out) {
  constexpr int kDefault = 80;
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefault;
  return size.ws_col;
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    for (const char* charset : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(charset) != locale.npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace digits
