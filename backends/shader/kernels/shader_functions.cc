// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/shader_functions.h"

#include <cctype>
#include <cstddef>
#include <vector>

#include "kernel_texts.h"
#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

struct Function {
  std::string_view name;
  std::string_view text;
};

// In the order of the library, where every function stands behind those that it calls. Lines are not indented there.
std::vector<Function> SplitLibrary(std::string_view library) {
  constexpr std::string_view kStart = "fn ";
  constexpr std::string_view kNextStart = "\nfn ";
  std::vector<Function> functions;
  while (library.starts_with(kStart)) {
    const size_t next = library.find(kNextStart);
    const size_t size = next == std::string_view::npos ? library.size() : next + 1;
    functions.push_back({library.substr(kStart.size(), library.find('(') - kStart.size()), library.substr(0, size)});
    library.remove_prefix(size);
  }
  return functions;
}

bool IsPartOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool Calls(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end < text.size() && text[end] == '(' && (at == 0 || !IsPartOfName(text[at - 1]))) return true;
  }
  return false;
}

}  // namespace

std::string FunctionsCalledBy(std::string_view text, FunctionTypes types) {
  static const std::vector<Function>& functions = *new std::vector<Function>(SplitLibrary(kElementaryText));
  std::string called;
  // From the last to the first, so that a function's callers are known when its turn comes.
  const auto take = [&](const Function& function) {
    if (Calls(text, function.name) || Calls(called, function.name)) called.insert(0, function.text);
  };
  const auto take_all = [&](const std::vector<Function>& library) {
    for (size_t i = library.size(); i-- > 0;) take(library[i]);
  };
  if (types == FunctionTypes::kSoft) {
    static const std::vector<Function>& soft = *new std::vector<Function>(SplitLibrary(kSoftDoubleText));
    take_all(soft);
  }
  if constexpr (kMayHaveAllDTypes) {
    static const std::vector<Function>& hard = *new std::vector<Function>(SplitLibrary(kHardDoubleText));
    static const std::vector<Function>& wide = *new std::vector<Function>(SplitLibrary(kWideText));
    if (types == FunctionTypes::kHard) take_all(hard);
    if (types != FunctionTypes::kF32 && types != FunctionTypes::kSoft) take_all(wide);
  }
  if (types != FunctionTypes::kWide) take_all(functions);
  return called;
}

}  // namespace tandem::shader
