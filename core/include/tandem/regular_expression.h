// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RegularExpression: patterns in the syntax of RE2, matched in time that is linear in the text; the same on every
// target, without what makes a library too large for a page.

#ifndef TANDEM_REGULAR_EXPRESSION_H_
#define TANDEM_REGULAR_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/export.h"
#include "tandem/growing_array.h"
#include "tandem/status.h"

namespace tandem {

// Text is UTF-8; bytes that are none match nothing. Understood are literals, '.', classes (with ranges, \d \s \w and
// [:alpha:] and the like), groups (capturing, named, (?:...), flags i m s U), '|', '*', '+', '?', '{n,m}', each lazy
// with '?' behind it, '^', '$', \A, \z, \b, \B, and escapes, \Q...\E among them. Case is ignored in ASCII alone, and
// there are no classes of Unicode's categories. Immutable once parsed.
class TANDEM_EXPORT RegularExpression {
 public:
  // The whole match and groups 1 to 9, which is what replacements can name.
  static constexpr size_t kMaxGroups = 10;
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // InvalidArgument that says where `pattern`, called so, is wrong; ResourceExhausted.
  static StatusOr<RegularExpression> Parse(std::string_view pattern);

  // How many groups capture.
  int num_groups() const { return num_groups_; }

  // Bytes that Find works in.
  size_t scratch_size() const;
  // The leftmost match that begins at byte `from` of `text` or behind it, as a backtracking matcher would find it:
  // sets where the groups begin and end, kNone of those that take no part. False if there is none. `scratch` has
  // scratch_size() bytes and is aligned for size_t. Within a kernel that is to end it ends with false.
  bool Find(std::string_view text, size_t from, size_t (&groups)[2 * kMaxGroups], void* scratch) const;

 private:
  friend class RegularExpressionParser;
  enum class Kind : uint8_t { kCharacter, kSet, kSplit, kJump, kSave, kAssert, kMatch };
  enum class Assertion : uint8_t { kTextBegin, kTextEnd, kLineBegin, kLineEnd, kWordEdge, kNoWordEdge };
  // Targets are relative. A character or a set may ignore case; a split tries x before y.
  struct Step {
    Kind kind;
    bool folds;
    int32_t x;
    int32_t y;
  };
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  struct Set {
    size_t first_range;
    size_t num_ranges;
    bool is_negated;
  };
  struct Threads;
  struct Run;

  bool Matches(const Step& step, uint32_t character) const;

  GrowingArray<Step> steps_;
  GrowingArray<Range> ranges_;
  GrowingArray<Set> sets_;
  int num_groups_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_REGULAR_EXPRESSION_H_
