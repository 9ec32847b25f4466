// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/unrolled_text.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace tandem::shader {

namespace {

class Unroller {
 public:
  Unroller(std::string_view text, std::initializer_list<TextValue> values) : values_(values) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      lines_.push_back(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
  }

  std::string Run() {
    Emit(0, lines_.size());
    return std::move(out_);
  }

 private:
  static std::string_view Word(std::string_view line, size_t index) {
    size_t begin = 0;
    for (;; --index) {
      const size_t end = std::min(line.find(' ', begin), line.size());
      if (index == 0) return line.substr(begin, end - begin);
      begin = std::min(end + 1, line.size());
    }
  }
  static bool IsDirective(std::string_view line, std::string_view name) { return Word(line, 0) == name; }

  int ValueOf(std::string_view sum) const {
    const size_t plus = sum.find('+');
    if (plus != std::string_view::npos) return ValueOf(sum.substr(0, plus)) + ValueOf(sum.substr(plus + 1));
    const size_t times = sum.find('*');
    if (times != std::string_view::npos) return ValueOf(sum.substr(0, times)) * ValueOf(sum.substr(times + 1));
    return ValueOfName(sum);
  }

  int ValueOfName(std::string_view name) const {
    if (!name.empty() && name[0] >= '0' && name[0] <= '9') {
      int number = 0;
      for (char digit : name) number = number * 10 + (digit - '0');
      return number;
    }
    // The innermost loop's name comes last.
    for (size_t i = values_.size(); i-- > 0;) {
      if (values_[i].name == name) return values_[i].value;
    }
    assert(false && "a name in a kernel's text has no value");
    return 0;
  }

  // The line of the #end, or #else, that belongs to the directive before `begin`.
  size_t FindEnd(size_t begin, bool or_else) const {
    int depth = 0;
    for (size_t i = begin; i < lines_.size(); ++i) {
      if (IsDirective(lines_[i], "#for") || IsDirective(lines_[i], "#if")) ++depth;
      if (depth == 0 && or_else && IsDirective(lines_[i], "#else")) return i;
      if (IsDirective(lines_[i], "#end") && depth-- == 0) return i;
    }
    assert(false && "a directive in a kernel's text has no #end");
    return lines_.size();
  }

  void Emit(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (IsDirective(lines_[i], "#for")) {
        const size_t last = FindEnd(i + 1, false);
        EmitLoop(Word(lines_[i], 1), ValueOf(Word(lines_[i], 2)), i + 1, last);
        i = last;
      } else if (IsDirective(lines_[i], "#if")) {
        const size_t last = FindEnd(i + 1, false);
        const size_t middle = FindEnd(i + 1, true);
        if (ValueOf(Word(lines_[i], 1)) != 0) {
          Emit(i + 1, middle);
        } else if (middle < last) {
          Emit(middle + 1, last);
        }
        i = last;
      } else {
        EmitLine(lines_[i]);
      }
    }
  }

  void EmitLoop(std::string_view name, int count, size_t begin, size_t end) {
    for (int i = 0; i < count; ++i) {
      values_.push_back({name, i});
      Emit(begin, end);
      values_.pop_back();
    }
  }

  void EmitLine(std::string_view line) {
    for (;;) {
      const size_t begin = line.find("${");
      out_.append(line.substr(0, begin));
      if (begin == std::string_view::npos) break;
      const size_t end = line.find('}', begin);
      out_.append(std::to_string(ValueOf(line.substr(begin + 2, end - begin - 2))));
      line = line.substr(end + 1);
    }
    out_.push_back('\n');
  }

  std::vector<TextValue> values_;
  std::vector<std::string_view> lines_;
  std::string out_;
};

}  // namespace

std::string Unroll(std::string_view text, std::initializer_list<TextValue> values) {
  return Unroller(text, values).Run();
}

}  // namespace tandem::shader
