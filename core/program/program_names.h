// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the names in the text of a program stand for.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_NAMES_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "program_lexer.h"
#include "tandem/status.h"

namespace tandem {

// Names and what they stand for. As a tree: names are chosen by whoever wrote the text, who may know a hash.
template <typename Name, typename Meaning>
class ProgramNames {
 public:
  // What the name stands for already, or null, and from then on for `meaning`.
  const Meaning* Add(Name name, const Meaning& meaning) {
    const auto [place, is_new] = names_.try_emplace(std::move(name), meaning);
    return is_new ? nullptr : &place->second;
  }
  // Null if it is unknown.
  const Meaning* Find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  const std::map<Name, Meaning, std::less<>>& all() const { return names_; }

 private:
  std::map<Name, Meaning, std::less<>> names_;
};

// A function of the program.
struct ProgramNamedFunction {
  uint32_t index;
  size_t offset;  // of its name
};
using ProgramFunctionNames = ProgramNames<std::string, ProgramNamedFunction>;

// Values that were defined by one name of the text.
struct ProgramNamedValues {
  uint32_t first;
  uint32_t count;
  size_t offset;  // of the name
};
using ProgramValueNames = ProgramNames<std::string_view, ProgramNamedValues>;

// The function or value that a symbol or value stands for, or the error that it is unknown, which asks whether one that
// is near was meant.
StatusOr<uint32_t> FindProgramFunction(const ProgramTokens& tokens, const ProgramToken& symbol,
                                       const ProgramFunctionNames& names);
StatusOr<uint32_t> FindProgramValue(const ProgramTokens& tokens, const ProgramToken& value,
                                    const ProgramValueNames& names);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_NAMES_H_
