// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parser, which writes a program for a matcher that follows all ways at once: K. Thompson, "Regular expression
// search algorithm" (1968), with the groups of each way, as R. Pike has it.

#include "tandem/regular_expression.h"

#include <algorithm>
#include <utility>

#include "tandem/kernel_run.h"

namespace tandem {
namespace {

constexpr uint32_t kMaxCharacter = 0x10FFFF;
constexpr uint32_t kInvalid = kMaxCharacter + 1;  // a byte that is no UTF-8

// The character at `at`, which is stepped over.
uint32_t NextCharacter(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const uint8_t first = byte(at);
  const size_t more = first < 0x80 ? 0 : first < 0xC2 ? 9 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : 9;
  uint32_t character = more == 0 ? first : first & (0x3Fu >> more);
  for (size_t i = 1; i <= more; ++i) {
    if (more > 3 || (byte(at + i) & 0xC0) != 0x80) {
      ++at;
      return kInvalid;
    }
    character = character << 6 | (byte(at + i) & 0x3Fu);
  }
  const bool is_short = (more == 2 && character < 0x800) || (more == 3 && character < 0x10000);
  const bool is_surrogate = character >= 0xD800 && character < 0xE000;
  at += is_short || is_surrogate || character > kMaxCharacter ? 1 : more + 1;
  return is_short || is_surrogate || character > kMaxCharacter ? kInvalid : character;
}

uint32_t Folded(uint32_t c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; }
uint32_t Unfolded(uint32_t c) { return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c; }

bool IsWordByte(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// Ranges as pairs of characters.
struct NamedClass {
  std::string_view name;
  std::string_view pairs;
};
constexpr NamedClass kClasses[] = {
    {"d", "09"},           {"s", "\t\n\f\r  "},
    {"w", "09AZ__az"},     {"alnum", "09AZaz"},
    {"alpha", "AZaz"},     {"ascii", std::string_view("\0\x7F", 2)},
    {"blank", "\t\t  "},   {"cntrl", std::string_view("\0\x1F\x7F\x7F", 4)},
    {"digit", "09"},       {"graph", "!~"},
    {"lower", "az"},       {"print", " ~"},
    {"punct", "!/:@[`{~"}, {"space", "\t\r  "},
    {"upper", "AZ"},       {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

const NamedClass* FindClass(std::string_view name) {
  for (const NamedClass& named : kClasses) {
    if (named.name == name) return &named;
  }
  return nullptr;
}

}  // namespace

// Recursive descent; each part of the pattern appends steps, whose targets are relative, so that they can be moved and
// copied.
class RegularExpressionParser {
 public:
  RegularExpressionParser(std::string_view pattern, RegularExpression& result) : pattern_(pattern), result_(result) {}

  Status Run() {
    Emit(Kind::kSave, 0);
    ParseChoice(0);
    if (reason_ == nullptr && at_ < pattern_.size()) Fail("has a ')' without '('");
    Emit(Kind::kSave, 1);
    Emit(Kind::kMatch);
    if (is_out_of_memory_) return Status::OutOfMemory();
    if (reason_ == nullptr) return Status();
    return InvalidArgument("pattern ", reason_, ", at byte ", failed_at_);
  }

 private:
  using Kind = RegularExpression::Kind;
  using Assertion = RegularExpression::Assertion;
  using Step = RegularExpression::Step;
  static constexpr int kMaxDepth = 200;
  static constexpr size_t kMaxSteps = 20000;
  static constexpr int64_t kMaxCount = 1000;

  void Fail(const char* reason) {
    if (reason_ != nullptr) return;
    reason_ = reason;
    failed_at_ = at_;
  }
  bool HasFailed() const { return reason_ != nullptr || is_out_of_memory_; }
  void InsertStep(size_t at, Step step) {
    if (size() >= kMaxSteps) return Fail("is too large");
    if (result_.steps_.Insert(at, step) == nullptr) is_out_of_memory_ = true;
  }
  void Emit(Kind kind, int64_t x = 0, int64_t y = 0) {
    InsertStep(size(), {kind, folds_, static_cast<int32_t>(x), static_cast<int32_t>(y)});
  }
  size_t size() const { return result_.steps_.size(); }

  bool IsAtEnd() const { return at_ >= pattern_.size(); }
  bool Takes(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  void ParseChoice(int depth) {
    if (depth > kMaxDepth) return Fail("is nested too deeply");
    const size_t begin = size();
    ParseSequence(depth);
    if (HasFailed() || !Takes("|")) return;
    const auto length = static_cast<int64_t>(size() - begin);
    InsertStep(begin, {Kind::kSplit, false, 1, static_cast<int32_t>(length + 2)});
    const size_t jump = size();
    Emit(Kind::kJump);
    ParseChoice(depth + 1);
    if (!HasFailed()) result_.steps_[jump].x = static_cast<int32_t>(size() - jump);
  }

  void ParseSequence(int depth) {
    while (!HasFailed() && !IsAtEnd() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      const size_t begin = size();
      ParseAtom(depth);
      if (!HasFailed()) ParseRepetition(begin);
    }
  }

  // What may follow the part whose steps begin at `begin`.
  void ParseRepetition(size_t begin) {
    int64_t least = 1;
    int64_t most = 1;  // -1: any
    if (!TakeCounts(&least, &most)) return;
    const bool is_greedy = Takes("?") == prefers_few_;
    const size_t at = at_;
    int64_t ignored;
    if (TakeCounts(&ignored, &ignored)) {
      at_ = at;
      return Fail("has a repetition of a repetition");
    }
    const auto length = static_cast<int64_t>(size() - begin);
    const auto split = [&](int64_t again, int64_t onwards) {
      is_greedy ? Emit(Kind::kSplit, again, onwards) : Emit(Kind::kSplit, onwards, again);
    };
    const auto copy = [&] {
      for (int64_t i = 0; i < length && !HasFailed(); ++i) {
        InsertStep(size(), result_.steps_[begin + static_cast<size_t>(i)]);
      }
    };
    for (int64_t i = 0; i < least && !HasFailed(); ++i) copy();
    for (int64_t i = least; i < most && !HasFailed(); ++i) {
      split(1, (most - i) * (length + 1));
      copy();
    }
    if (most < 0) {
      split(1, length + 2);
      copy();
      Emit(Kind::kJump, -(length + 1));
    }
    if (HasFailed()) return;
    // The original, of which these are copies, goes.
    std::rotate(result_.steps_.begin() + begin, result_.steps_.begin() + begin + length, result_.steps_.end());
    for (int64_t i = 0; i < length; ++i) result_.steps_.TakeLast();
  }

  bool TakeCounts(int64_t* least, int64_t* most) {
    if (Takes("*")) return *least = 0, *most = -1, true;
    if (Takes("+")) return *least = 1, *most = -1, true;
    if (Takes("?")) return *least = 0, *most = 1, true;
    const size_t begin = at_;
    int64_t first = 0;
    int64_t second = -1;
    if (!Takes("{")) return false;
    bool is_valid = TakeNumber(&first);
    if (!Takes(",")) {
      second = first;
    } else if (!IsAtEnd() && pattern_[at_] != '}') {
      is_valid = TakeNumber(&second) && is_valid;
    }
    if (!is_valid || !Takes("}")) {  // a brace like any character
      at_ = begin;
      return false;
    }
    if (first > kMaxCount || second > kMaxCount || (second >= 0 && second < first))
      Fail("has a bad number of repetitions");
    *least = first;
    *most = second;
    return true;
  }

  bool TakeNumber(int64_t* number) {
    const size_t begin = at_;
    *number = 0;
    for (; !IsAtEnd() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
      *number = std::min<int64_t>(*number * 10 + (pattern_[at_] - '0'), kMaxCount + 1);
    }
    return at_ > begin;
  }

  void ParseAtom(int depth) {
    int64_t ignored;
    const size_t begin = at_;
    if (TakeCounts(&ignored, &ignored)) {
      at_ = begin;
      return Fail("has a repetition of nothing");
    }
    if (Takes("(")) return ParseGroup(depth);
    if (Takes("[")) return ParseSet();
    if (Takes(".")) return EmitDot();
    if (Takes("^")) return EmitAssertion(is_multiline_ ? Assertion::kLineBegin : Assertion::kTextBegin);
    if (Takes("$")) return EmitAssertion(is_multiline_ ? Assertion::kLineEnd : Assertion::kTextEnd);
    if (Takes("\\")) return ParseEscape();
    EmitCharacter(NextCharacter(pattern_, at_));
  }

  void EmitCharacter(uint32_t character) {
    if (character == kInvalid) return Fail("must be UTF-8");
    Emit(Kind::kCharacter, folds_ ? Folded(character) : character);
  }
  void EmitAssertion(Assertion assertion) { Emit(Kind::kAssert, static_cast<int64_t>(assertion)); }

  void AddRange(uint32_t first, uint32_t last) {
    if (result_.ranges_.Append({first, last}) == nullptr) is_out_of_memory_ = true;
  }
  // What a class does not have, too, as \D is what \d is not.
  void AddClass(const NamedClass& named, bool is_negated) {
    uint32_t next = 0;
    for (size_t i = 0; i < named.pairs.size(); i += 2) {
      const auto first = static_cast<uint8_t>(named.pairs[i]);
      const auto last = static_cast<uint8_t>(named.pairs[i + 1]);
      if (!is_negated) AddRange(first, last);
      if (is_negated && first > next) AddRange(next, first - 1u);
      next = last + 1u;
    }
    if (is_negated) AddRange(next, kMaxCharacter);
  }
  void EmitSet(size_t first_range, bool is_negated) {
    if (result_.sets_.Append({first_range, result_.ranges_.size() - first_range, is_negated}) == nullptr) {
      is_out_of_memory_ = true;
    }
    Emit(Kind::kSet, static_cast<int64_t>(result_.sets_.size()) - 1);
  }
  void EmitDot() {
    const size_t first = result_.ranges_.size();
    if (dot_is_all_) {
      AddRange(0, kMaxCharacter);
    } else {
      AddRange(0, '\n' - 1);
      AddRange('\n' + 1, kMaxCharacter);
    }
    EmitSet(first, false);
  }

  // Behind '('.
  void ParseGroup(int depth) {
    const bool flags[] = {folds_, is_multiline_, dot_is_all_, prefers_few_};
    int group = -1;
    if (Takes("?P<") || Takes("?<")) {
      const size_t begin = at_;
      while (IsWordByte(pattern_, at_)) ++at_;
      if (at_ == begin || !Takes(">")) return Fail("has a group with a bad name");
      group = ++result_.num_groups_;
    } else if (Takes("?")) {
      if (!ParseFlags()) return;  // they hold for the rest of the group around
    } else {
      group = ++result_.num_groups_;
    }
    if (group >= 0 && group < static_cast<int>(RegularExpression::kMaxGroups)) Emit(Kind::kSave, 2 * group);
    ParseChoice(depth + 1);
    if (!HasFailed() && !Takes(")")) return Fail("lacks a ')'");
    if (group >= 0 && group < static_cast<int>(RegularExpression::kMaxGroups)) Emit(Kind::kSave, 2 * group + 1);
    folds_ = flags[0];
    is_multiline_ = flags[1];
    dot_is_all_ = flags[2];
    prefers_few_ = flags[3];
  }

  // Behind '(?'; true if a group follows.
  bool ParseFlags() {
    bool value = true;
    for (; !IsAtEnd(); ++at_) {
      switch (pattern_[at_]) {
        case 'i':
          folds_ = value;
          break;
        case 'm':
          is_multiline_ = value;
          break;
        case 's':
          dot_is_all_ = value;
          break;
        case 'U':
          prefers_few_ = value;
          break;
        case '-':
          value = false;
          break;
        case ':':
        case ')':
          return pattern_[at_++] == ':';
        default:
          Fail("has a group of an unknown kind");
          return false;
      }
    }
    Fail("lacks a ')'");
    return false;
  }

  // A character that is the same in and outside classes, behind a backslash.
  uint32_t TakeEscaped() {
    constexpr std::string_view kNames = "afnrtv";
    constexpr std::string_view kControls = "\a\f\n\r\t\v";
    const char c = IsAtEnd() ? '\0' : pattern_[at_];
    if (const size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      ++at_;
      return static_cast<uint8_t>(kControls[i]);
    }
    if (c == 'x') {
      ++at_;
      return TakeHexadecimal();
    }
    if (IsAtEnd() || IsWordByte(pattern_, at_)) {
      Fail("has an unknown escape");
      return 0;
    }
    return NextCharacter(pattern_, at_);
  }

  uint32_t TakeHexadecimal() {
    const bool has_braces = Takes("{");
    uint32_t number = 0;
    int digits = 0;
    for (; !IsAtEnd() && digits < (has_braces ? 6 : 2); ++at_, ++digits) {
      const char c = pattern_[at_];
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) break;
      number = number * 16 + static_cast<uint32_t>(digit);
    }
    if (digits == 0 || (has_braces ? !Takes("}") : digits != 2) || number > kMaxCharacter)
      Fail("has an unknown escape");
    return number;
  }

  // A class that a letter names, in lower case, or all that it does not have, in upper case; null if it names none.
  const NamedClass* TakeLetterClass(bool* is_negated) {
    if (IsAtEnd()) return nullptr;
    const char lower = static_cast<char>(pattern_[at_] | 32);
    if (lower != 'd' && lower != 's' && lower != 'w') return nullptr;
    *is_negated = pattern_[at_++] != lower;
    return FindClass(std::string_view(&lower, 1));
  }

  // Behind a backslash.
  void ParseEscape() {
    if (Takes("A")) return EmitAssertion(Assertion::kTextBegin);
    if (Takes("z")) return EmitAssertion(Assertion::kTextEnd);
    if (Takes("b")) return EmitAssertion(Assertion::kWordEdge);
    if (Takes("B")) return EmitAssertion(Assertion::kNoWordEdge);
    if (Takes("Q")) {
      while (!IsAtEnd() && !HasFailed() && !Takes("\\E")) EmitCharacter(NextCharacter(pattern_, at_));
      return;
    }
    bool is_negated = false;
    if (const NamedClass* named = TakeLetterClass(&is_negated)) {
      const size_t first = result_.ranges_.size();
      AddClass(*named, is_negated);
      return EmitSet(first, false);
    }
    const uint32_t character = TakeEscaped();
    if (!HasFailed()) EmitCharacter(character);
  }

  // Behind '['.
  void ParseSet() {
    const bool is_negated = Takes("^");
    const size_t first_range = result_.ranges_.size();
    bool is_first = true;
    while (!HasFailed()) {
      if (IsAtEnd()) return Fail("lacks a ']'");
      if (!is_first && Takes("]")) break;
      is_first = false;
      if (Takes("[:")) {
        ParseNamedClass();
        continue;
      }
      const size_t begin = at_;
      bool is_other = false;
      if (Takes("\\")) {
        if (const NamedClass* named = TakeLetterClass(&is_other)) {
          AddClass(*named, is_other);
          continue;
        }
        at_ = begin;
      }
      const uint32_t first = TakeOfSet();
      uint32_t last = first;
      if (pattern_.substr(at_, 1) == "-" && pattern_.substr(at_ + 1, 1) != "]" && at_ + 1 < pattern_.size()) {
        ++at_;
        last = TakeOfSet();
      }
      if (last < first) return Fail("has a range whose end comes before its beginning");
      AddRange(first, last);
    }
    EmitSet(first_range, is_negated);
  }

  uint32_t TakeOfSet() {
    const uint32_t character = Takes("\\") ? TakeEscaped() : NextCharacter(pattern_, at_);
    if (character == kInvalid) Fail("must be UTF-8");
    return character;
  }

  void ParseNamedClass() {
    const bool is_negated = Takes("^");
    const size_t end = pattern_.find(":]", at_);
    const NamedClass* named = end == std::string_view::npos ? nullptr : FindClass(pattern_.substr(at_, end - at_));
    if (named == nullptr || named->name.size() == 1) return Fail("has a class of an unknown name");
    at_ = end + 2;
    AddClass(*named, is_negated);
  }

  const std::string_view pattern_;
  RegularExpression& result_;
  size_t at_ = 0;
  size_t failed_at_ = 0;
  const char* reason_ = nullptr;
  bool is_out_of_memory_ = false;
  bool folds_ = false;
  bool is_multiline_ = false;
  bool dot_is_all_ = false;
  bool prefers_few_ = false;
};

StatusOr<RegularExpression> RegularExpression::Parse(std::string_view pattern) {
  RegularExpression result;
  TANDEM_RETURN_IF_ERROR(RegularExpressionParser(pattern, result).Run());
  return result;
}

bool RegularExpression::Matches(const Step& step, uint32_t character) const {
  if (character > kMaxCharacter) return false;
  if (step.kind == Kind::kCharacter) {
    return static_cast<uint32_t>(step.x) == (step.folds ? Folded(character) : character);
  }
  const Set& set = sets_[static_cast<size_t>(step.x)];
  const auto has = [&](uint32_t c) {
    for (size_t i = set.first_range; i < set.first_range + set.num_ranges; ++i) {
      if (c >= ranges_[i].first && c <= ranges_[i].last) return true;
    }
    return false;
  };
  const bool is_in = has(character) || (step.folds && (has(Folded(character)) || has(Unfolded(character))));
  return is_in != set.is_negated;
}

// The ways that are still open at one place of the text, the preferred ones first, with the groups of each.
struct RegularExpression::Threads {
  size_t count = 0;
  size_t* steps;   // where each goes on
  size_t* groups;  // of each
};

// One search.
struct RegularExpression::Run {
  static constexpr size_t kSlots = 2 * kMaxGroups;

  Run(const RegularExpression& of, std::string_view in, void* scratch) : expression(of), text(in) {
    auto* words = static_cast<size_t*>(scratch);
    const size_t n = of.steps_.size();
    const auto take = [&](size_t size) { return std::exchange(words, words + size); };
    for (Threads* threads : {&now, &next}) {
      threads->steps = take(n);
      threads->groups = take(n * kSlots);
    }
    seen = take(n);
    stack = take(2 * n + 2);
    saved = take(n + 1);
    std::fill_n(seen, n, kNone);
  }

  bool Holds(Assertion assertion, size_t at) const {
    const bool is_edge = (at > 0 && IsWordByte(text, at - 1)) != IsWordByte(text, at);
    switch (assertion) {
      case Assertion::kTextBegin:
        return at == 0;
      case Assertion::kTextEnd:
        return at == text.size();
      case Assertion::kLineBegin:
        return at == 0 || text[at - 1] == '\n';
      case Assertion::kLineEnd:
        return at == text.size() || text[at] == '\n';
      case Assertion::kWordEdge:
        return is_edge;
      default:
        return !is_edge;
    }
  }

  // Adds to `threads` all ways from step `first` on that look at the character at `at` or end there. The stack has
  // steps still to be visited, and between them slots of groups to be set back, as step n + slot.
  void Add(Threads& threads, size_t first, size_t at, size_t* groups) {
    const size_t n = expression.steps_.size();
    size_t depth = 0;
    size_t num_saved = 0;
    stack[depth++] = first;
    while (depth > 0) {
      const size_t i = stack[--depth];
      if (i >= n) {
        groups[i - n] = saved[--num_saved];
        continue;
      }
      if (seen[i] == at) continue;
      seen[i] = at;
      const Step& step = expression.steps_[i];
      const auto target = [i](int32_t offset) { return static_cast<size_t>(static_cast<int64_t>(i) + offset); };
      switch (step.kind) {
        case Kind::kJump:
          stack[depth++] = target(step.x);
          break;
        case Kind::kSplit:
          stack[depth++] = target(step.y);
          stack[depth++] = target(step.x);
          break;
        case Kind::kAssert:
          if (Holds(static_cast<Assertion>(step.x), at)) stack[depth++] = i + 1;
          break;
        case Kind::kSave:
          saved[num_saved++] = groups[step.x];
          stack[depth++] = n + static_cast<size_t>(step.x);
          stack[depth++] = i + 1;
          groups[step.x] = at;
          break;
        default:
          threads.steps[threads.count] = i;
          std::copy_n(groups, kSlots, threads.groups + threads.count++ * kSlots);
      }
    }
  }

  const RegularExpression& expression;
  const std::string_view text;
  Threads now;
  Threads next;
  size_t* seen;  // for each step the last place at which it was added
  size_t* stack;
  size_t* saved;
};

size_t RegularExpression::scratch_size() const {
  const size_t n = steps_.size();
  return (2 * (n + n * Run::kSlots) + n + 2 * n + 2 + n + 1) * sizeof(size_t);
}

bool RegularExpression::Find(std::string_view text, size_t from, size_t (&groups)[2 * kMaxGroups],
                             void* scratch) const {
  Run run(*this, text, scratch);
  bool is_found = false;
  size_t fresh[Run::kSlots];
  std::fill_n(fresh, Run::kSlots, kNone);
  run.Add(run.now, 0, from, fresh);
  StopPoll poll(int64_t{1} << 16);
  for (size_t at = from;; std::swap(run.now, run.next)) {
    if (poll.Stops(1 + static_cast<int64_t>(run.now.count))) return false;
    size_t behind = at;
    const uint32_t character = at < text.size() ? NextCharacter(text, behind) : kInvalid;
    run.next.count = 0;
    for (size_t i = 0; i < run.now.count; ++i) {
      const size_t number = run.now.steps[i];
      size_t* const own = run.now.groups + i * Run::kSlots;
      if (steps_[number].kind == Kind::kMatch) {
        std::copy_n(own, Run::kSlots, groups);
        is_found = true;
        break;  // the ways behind it are worse
      }
      if (at < text.size() && Matches(steps_[number], character)) run.Add(run.next, number + 1, behind, own);
    }
    if (at >= text.size()) return is_found;
    at = behind;
    if (!is_found) run.Add(run.next, 0, at, fresh);
    if (run.next.count == 0 && is_found) return true;
  }
}

}  // namespace tandem
