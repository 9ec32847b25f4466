// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Looking up names.

#include "program_names.h"

#include <algorithm>

#include "base/edit_distance.h"

namespace tandem {

namespace {

// Of a text, which may define millions of names, only so many are compared.
constexpr int kMaxComparisons = 4096;

// ", did you mean @name" with the known name that one which is unknown may be a slip for; empty if there is none near.
template <typename Names>
std::string DidYouMean(const Names& names, char sign, std::string_view name) {
  std::string_view nearest;
  if (name.size() > internal::kMaxCompared) return {};
  int least = std::min(4, static_cast<int>(name.size()) / 3 + 1);
  int num_comparisons = 0;
  for (const auto& [candidate, meaning] : names.all()) {
    const auto longer = static_cast<int64_t>(candidate.size()) - static_cast<int64_t>(name.size());
    if (candidate.size() > internal::kMaxCompared || longer >= least || -longer >= least) continue;
    if (++num_comparisons > kMaxComparisons) break;
    const int distance = internal::EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (nearest.empty()) return {};
  return std::string(", did you mean ").append(1, sign).append(ProgramTokens::Shown(nearest));
}

}  // namespace

StatusOr<uint32_t> FindProgramFunction(const ProgramTokens& tokens, const ProgramToken& symbol,
                                       const ProgramFunctionNames& names) {
  const std::string name = Unescape(symbol);
  if (const ProgramNamedFunction* found = names.Find(name)) return found->index;
  return tokens.Wrong(symbol.offset, "expected a function of the program, got '", ProgramTokens::Shown(symbol.text),
                      "'", DidYouMean(names, '@', name));
}

StatusOr<uint32_t> FindProgramValue(const ProgramTokens& tokens, const ProgramToken& value,
                                    const ProgramValueNames& names) {
  const std::string given = ProgramTokens::Shown(value.text);
  const ProgramNamedValues* found = names.Find(value.content);
  if (found == nullptr) {
    return tokens.Wrong(value.offset, "expected a value that was defined before, got '", given, "'",
                        DidYouMean(names, '%', value.content));
  }
  const bool is_numbered = value.index != ProgramToken::kNoIndex;
  if (is_numbered ? value.index < found->count : found->count == 1) {
    return found->first + (is_numbered ? value.index : 0);
  }
  const std::string name = ProgramTokens::Shown(value.text.substr(0, value.content.size() + 1));
  return tokens.Wrong(value.offset, "expected ", name, "#0", found->count > 1 ? " to #" : "",
                      found->count > 1 ? std::to_string(found->count - 1) : "", ", got '", given, "'");
}

}  // namespace tandem
