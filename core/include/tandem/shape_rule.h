// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SizeRule and ShapeRule: sizes and shapes as texts over an op's arguments and attributes, for ops defined at run time,
// whose definitions are data.

#ifndef TANDEM_SHAPE_RULE_H_
#define TANDEM_SHAPE_RULE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What the rules of a call are computed from. `results` is empty where a rule does not see them.
struct RuleFrame {
  std::span<const TensorMetadata* const> args;
  const OpAttrsRef& attrs;
  std::span<const TensorMetadata> results;
};

// An integer: numbers, int attributes by name, `x[0]` (a dimension of x; `x[-1]` is its last), `size(x)` (how many
// elements x has) and `rank(x)`, with + - * / and parentheses. Division rounds down. x is an input or, for shader
// kernels, a result, and none that stands for several tensors. Immutable.
class TANDEM_EXPORT SizeRule {
 public:
  // InvalidArgument, which quotes the text. `sees_results`: whether it may name results.
  static StatusOr<SizeRule> Parse(std::string_view text, const OpDef& def, bool sees_results);

  // InvalidArgument for a dimension that a tensor does not have, a division by zero, and what int64 does not hold.
  StatusOr<int64_t> Evaluate(const RuleFrame& frame) const;

 private:
  friend class SizeRuleParser;
  enum class Kind : uint8_t { kNumber, kAttr, kDim, kSize, kRank, kAdd, kSubtract, kMultiply, kDivide };
  // Operators take their operands from a stack.
  struct Step {
    Kind kind;
    uint32_t tensor = 0;  // an input, or behind all of these a result
    int64_t number = 0;   // itself, or a dimension
    std::string name{};   // of an attribute or a tensor
  };
  static constexpr size_t kMaxSteps = 64;

  std::vector<Step> steps_;
  std::string text_;
};

// A shape: `x`, that of input x; `[x[0], 2 * n]`, of sizes; `broadcast(x, y)`, the common one of inputs. Immutable.
class TANDEM_EXPORT ShapeRule {
 public:
  static StatusOr<ShapeRule> Parse(std::string_view text, const OpDef& def);
  StatusOr<TensorShape> Evaluate(const RuleFrame& frame) const;

 private:
  bool is_list_ = false;
  std::vector<SizeRule> sizes_;
  std::vector<uint32_t> inputs_;  // of which it is the common shape
};

// Gives the definition a metadata function: the shape of each output by a rule of this text, its dtype by its spec.
// InvalidArgument, which names the output, for a rule that is wrong, for another number of them than of outputs, and
// for outputs that are lists or of any dtype; the definition's own faults.
TANDEM_EXPORT Status SetShapes(OpDefBuilder& builder, std::span<const std::string> rules);

}  // namespace tandem

#endif  // TANDEM_SHAPE_RULE_H_
