// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rules are read once into steps for a stack, with names looked up, and evaluated without allocating.

#include "tandem/shape_rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tandem/metadata_function.h"

namespace tandem {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || IsDigit(c); }

// Splits a text into names, numbers and characters.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) { SkipBlanks(); }

  bool AtEnd() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool Accept(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    SkipBlanks();
    return true;
  }
  // Empty if there is none.
  std::string_view Name() { return rest_.empty() || IsDigit(rest_[0]) ? std::string_view() : Take(IsNamePart); }
  // Empty if there is none, or if it is too large.
  std::optional<int64_t> Number() {
    const std::string_view digits = Take(IsDigit);
    if (digits.empty()) return std::nullopt;
    int64_t number = 0;
    for (char digit : digits) {
      if (__builtin_mul_overflow(number, int64_t{10}, &number)) return std::nullopt;
      if (__builtin_add_overflow(number, int64_t{digit - '0'}, &number)) return std::nullopt;
    }
    return number;
  }

 private:
  std::string_view Take(bool (*is_part)(char)) {
    const auto end = std::ranges::find_if_not(rest_, is_part);
    const std::string_view word = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    SkipBlanks();
    return word;
  }
  void SkipBlanks() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

// Where a tensor of this name is among the inputs and, behind these, the results; -1: nowhere.
int FindTensor(const OpDef& def, std::string_view name, bool sees_results) {
  const auto find = [name](const std::vector<ArgDef>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      // How many tensors come before it is not known behind one that varies.
      if (args[i].IsVariadic()) return -1;
      if (args[i].name == name) return static_cast<int>(i);
    }
    return -1;
  };
  if (const int input = find(def.inputs); input >= 0) return input;
  if (!sees_results || def.HasVariadicInputs()) return -1;
  const int result = find(def.outputs);
  return result < 0 ? -1 : static_cast<int>(def.inputs.size()) + result;
}

const TensorMetadata& TensorAt(const RuleFrame& frame, uint32_t i) {
  return i < frame.args.size() ? *frame.args[i] : frame.results[i - frame.args.size()];
}

}  // namespace

// Reads one rule, with `reader` behind it in the end; what is wrong is kept.
class SizeRuleParser {
 public:
  SizeRuleParser(RuleReader& reader, const OpDef& def, bool sees_results)
      : reader_(reader), def_(def), sees_results_(sees_results) {}

  StatusOr<SizeRule> Read(std::string_view text) {
    Sum(0);
    if (!error_.ok()) return error_;
    SizeRule rule;
    rule.steps_ = std::move(steps_);
    rule.text_ = text;
    return rule;
  }

 private:
  using Kind = SizeRule::Kind;
  using Step = SizeRule::Step;
  static constexpr int kMaxDepth = 16;

  void Fail(std::string_view expected) {
    if (!error_.ok()) return;
    error_ = reader_.AtEnd() ? InvalidArgument("expected ", expected, ", got its end")
                             : InvalidArgument("expected ", expected, ", got '", reader_.rest(), "'");
  }
  void Expect(char c) {
    if (!reader_.Accept(c)) Fail(std::string_view(&c, 1));
  }
  void Add(Step step) {
    if (steps_.size() == SizeRule::kMaxSteps) return Fail("a shorter rule");
    steps_.push_back(std::move(step));
  }

  void Sum(int depth) {
    if (depth == kMaxDepth) return Fail("fewer parentheses");
    Product(depth);
    while (error_.ok()) {
      const bool adds = reader_.Accept('+');
      if (!adds && !reader_.Accept('-')) return;
      Product(depth);
      Add({adds ? Kind::kAdd : Kind::kSubtract});
    }
  }
  void Product(int depth) {
    Operand(depth);
    while (error_.ok()) {
      const bool multiplies = reader_.Accept('*');
      if (!multiplies && !reader_.Accept('/')) return;
      Operand(depth);
      Add({multiplies ? Kind::kMultiply : Kind::kDivide});
    }
  }
  void Operand(int depth) {
    if (reader_.Accept('(')) {
      Sum(depth + 1);
      return Expect(')');
    }
    if (!reader_.AtEnd() && IsDigit(reader_.rest()[0])) {
      const std::optional<int64_t> number = reader_.Number();
      return number.has_value() ? Add({Kind::kNumber, 0, *number}) : Fail("a number of 64 bits");
    }
    const std::string_view before = reader_.rest();
    const std::string_view name = reader_.Name();
    if (name.empty()) return Fail("a number, an attribute or a dimension");
    if ((name == "size" || name == "rank") && reader_.Accept('(')) {
      const std::string_view tensor = reader_.Name();
      AddTensor(name == "size" ? Kind::kSize : Kind::kRank, tensor, 0);
      return Expect(')');
    }
    if (reader_.Accept('[')) return Dimension(name);
    const int attr = def_.FindAttr(name);
    if (attr < 0 || def_.attrs[attr].kind != AttrKind::kInt || def_.attrs[attr].is_list) {
      if (error_.ok()) error_ = InvalidArgument("expected the name of an int attribute, got '", before, "'");
      return;
    }
    Add({Kind::kAttr, 0, 0, std::string(name)});
  }
  void Dimension(std::string_view tensor) {
    const bool is_from_end = reader_.Accept('-');
    const std::optional<int64_t> number = reader_.Number();
    if (!number.has_value() || *number > TensorShape::kMaxRank) return Fail("the number of a dimension");
    AddTensor(Kind::kDim, tensor, is_from_end ? -*number : *number);
    Expect(']');
  }
  void AddTensor(Kind kind, std::string_view name, int64_t number) {
    const int tensor = FindTensor(def_, name, sees_results_);
    if (tensor >= 0) return Add({kind, static_cast<uint32_t>(tensor), number, std::string(name)});
    if (error_.ok()) {
      error_ = InvalidArgument("expected the name of ", sees_results_ ? "an input or a result" : "an input",
                               " that is one tensor, got '", name, "'");
    }
  }

  RuleReader& reader_;
  const OpDef& def_;
  const bool sees_results_;
  std::vector<Step> steps_;
  Status error_;
};

StatusOr<SizeRule> SizeRule::Parse(std::string_view text, const OpDef& def, bool sees_results) {
  RuleReader reader(text);
  StatusOr<SizeRule> rule = SizeRuleParser(reader, def, sees_results).Read(text);
  if (!rule.ok()) return InvalidArgument("'", text, "': ", rule.status().message());
  if (!reader.AtEnd()) return InvalidArgument("'", text, "': expected an operator, got '", reader.rest(), "'");
  return rule;
}

StatusOr<int64_t> SizeRule::Evaluate(const RuleFrame& frame) const {
  std::array<int64_t, kMaxSteps> stack;
  size_t depth = 0;
  for (const Step& step : steps_) {
    int64_t value = step.number;
    if (step.kind >= Kind::kAdd) {
      const int64_t right = stack[--depth];
      const int64_t left = stack[--depth];
      bool overflows = false;
      if (step.kind == Kind::kAdd) overflows = __builtin_add_overflow(left, right, &value);
      if (step.kind == Kind::kSubtract) overflows = __builtin_sub_overflow(left, right, &value);
      if (step.kind == Kind::kMultiply) overflows = __builtin_mul_overflow(left, right, &value);
      if (step.kind == Kind::kDivide) {
        if (right == 0) return InvalidArgument("'", text_, "' divides ", left, " by 0");
        overflows = left == INT64_MIN && right == -1;
        if (!overflows) value = left / right - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
      }
      if (overflows) return InvalidArgument("'", text_, "' must be a number of 64 bits, got a larger one");
    } else if (step.kind == Kind::kAttr) {
      frame.attrs.Get(step.name, &value);
    } else if (step.kind != Kind::kNumber) {
      const TensorMetadata& tensor = TensorAt(frame, step.tensor);
      const int64_t dim = step.number < 0 ? step.number + tensor.rank() : step.number;
      if (step.kind == Kind::kDim && (dim < 0 || dim >= tensor.rank())) {
        return InvalidArgument(step.name, " must have a dimension ", step.number, ", got ", step.name, ": ", tensor);
      }
      value = step.kind == Kind::kDim    ? tensor.dim(static_cast<int>(dim))
              : step.kind == Kind::kSize ? tensor.num_elements()
                                         : int64_t{tensor.rank()};
    }
    stack[depth++] = value;
  }
  return stack[0];
}

StatusOr<ShapeRule> ShapeRule::Parse(std::string_view text, const OpDef& def) {
  const auto fail = [text](const auto&... parts) { return InvalidArgument("'", text, "': ", parts...); };
  ShapeRule rule;
  RuleReader reader(text);
  if (reader.Accept('[')) {
    rule.is_list_ = true;
    while (!reader.Accept(']')) {
      if (!rule.sizes_.empty() && !reader.Accept(',')) return fail("expected , or ], got '", reader.rest(), "'");
      StatusOr<SizeRule> size = SizeRuleParser(reader, def, /*sees_results=*/false).Read(text);
      if (!size.ok()) return fail(size.status().message());
      rule.sizes_.push_back(*std::move(size));
    }
    if (rule.sizes_.size() > size_t{TensorShape::kMaxRank}) {
      return fail("expected at most ", TensorShape::kMaxRank, " dimensions, got ", rule.sizes_.size());
    }
  } else {
    std::string_view name = reader.Name();
    const bool is_common = name == "broadcast" && reader.Accept('(');
    if (is_common) name = reader.Name();
    do {
      if (!rule.inputs_.empty()) name = reader.Name();
      const int input = FindTensor(def, name, /*sees_results=*/false);
      if (input < 0) {
        return fail("expected the name of an input that is one tensor, [sizes] or broadcast(inputs), got '", name, "'");
      }
      rule.inputs_.push_back(static_cast<uint32_t>(input));
    } while (is_common && reader.Accept(','));
    if (is_common && !reader.Accept(')')) return fail("expected ), got '", reader.rest(), "'");
  }
  if (!reader.AtEnd()) return fail("expected its end, got '", reader.rest(), "'");
  return rule;
}

StatusOr<TensorShape> ShapeRule::Evaluate(const RuleFrame& frame) const {
  TensorShape shape;
  if (is_list_) {
    for (const SizeRule& size : sizes_) {
      TANDEM_ASSIGN_OR_RETURN(const int64_t dim, size.Evaluate(frame));
      shape.Append(dim);
    }
    return shape;
  }
  shape = frame.args[inputs_[0]]->shape;
  for (size_t i = 1; i < inputs_.size(); ++i) {
    TANDEM_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, frame.args[inputs_[i]]->shape));
  }
  return shape;
}

Status SetShapes(OpDefBuilder& builder, std::span<const std::string> texts) {
  TANDEM_ASSIGN_OR_RETURN(const OpDef def, builder.Build());
  if (texts.size() != def.outputs.size()) {
    return InvalidArgument("op ", builder.name(), ": expected a shape for each of ", def.outputs.size(),
                           " outputs, got ", texts.size());
  }
  std::vector<ShapeRule> rules;
  for (size_t i = 0; i < texts.size(); ++i) {
    const ArgDef& output = def.outputs[i];
    const auto fail = [&](const auto&... parts) {
      return InvalidArgument("op ", builder.name(), ": shape of ", output.name, ": ", parts...);
    };
    if (output.IsVariadic() || output.any_dtype) return fail("expected an output of one dtype that is one tensor");
    StatusOr<ShapeRule> rule = ShapeRule::Parse(texts[i], def);
    if (!rule.ok()) return fail(rule.status().message());
    rules.push_back(*std::move(rule));
  }
  builder.Metadata([rules = std::move(rules)](const MetadataFrame& frame) -> Status {
    const RuleFrame values = {frame.args, frame.attrs, {}};
    for (size_t i = 0; i < rules.size(); ++i) {
      TANDEM_ASSIGN_OR_RETURN(frame.results[i].shape, rules[i].Evaluate(values));
    }
    return Status();
  });
  return Status();
}

}  // namespace tandem
