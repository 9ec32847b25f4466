// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The substitution op handler: runs other ops, or other kernels, in place of those that are called, by a table (OH-4a);
// Substitutions: the table.

#ifndef TANDEM_SUBSTITUTION_OP_HANDLER_H_
#define TANDEM_SUBSTITUTION_OP_HANDLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_attrs.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What an argument is to be.
struct TANDEM_EXPORT TensorPattern {
  // "f32[2,?]" (two dimensions, the second of any size), "f32[]" (a scalar), "f32" (of any shape), "*[2,3]" (of any
  // dtype), "*". InvalidArgument for other texts.
  static StatusOr<TensorPattern> Parse(std::string_view text);
  bool Matches(const TensorMetadata& metadata) const;

  DType dtype = DType::kInvalid;  // kInvalid: any
  bool has_shape = false;         // false: any, and no dims
  std::vector<int64_t> dims;      // -1: any size
};

// The text that Parse reads.
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const TensorPattern& pattern);

// A rule: calls of an op that fit it are calls of another op or kernel. Attributes are frozen, of the types that
// definitions have (AttrDef). One of `replacement` and `kernel` is given.
struct Substitution {
  // The attribute `to` of the replacement is the call's `from`.
  struct Attr {
    std::string to;
    std::string from;
  };

  std::string op;
  // Of the first arguments; what further ones are does not matter.
  std::vector<TensorPattern> inputs = {};
  // Attributes that the call must have, by itself or by default: of bool, numbers, dtypes, strings and shapes. The call
  // must have the default of each further one that the replacement does not get.
  OpAttrsRef attrs = {};

  // An op of the same handler, which may itself be replaced. It gets all arguments in their order, and of the
  // attributes those given here; else those that both ops have by one name and kind.
  std::string replacement = {};
  OpAttrsRef replacement_attrs = {};
  std::vector<Attr> replacement_attrs_of_call = {};

  // A kernel in place of those of the handler `kernel_handler`, which is that of the layer's device. It gets the op's
  // arguments, and its results have the metadata that the op's metadata function gives.
  Kernel kernel = {};
  KernelOpHandler* kernel_handler = nullptr;

  // Where the rule is from and what it is, for errors: "table.json:3:5", "addone of libaddone.so".
  std::string origin = {};
  std::string kernel_name = {};
};

// Rules by their ops: of several that fit a call the one that was added first counts. Thread-safe; shared by handlers
// of one runtime, which outlives it. Calls by name see changes at once, ops made before stay as they are (OR-3).
class TANDEM_EXPORT Substitutions : public RefCounted<Substitutions> {
 public:
  explicit Substitutions(CoreRuntime& runtime) : runtime_(runtime) {}
  virtual ~Substitutions();

  // Adds all rules, or none if one of them is wrong: NotFound for an op that is not defined; InvalidArgument for what
  // does not fit the definitions, for conditions that no call can meet, or that an earlier rule always meets, and for
  // ops that replace each other in a circle. The result is what Remove takes.
  StatusOr<uint64_t> Add(std::vector<Substitution> rules);
  void Remove(uint64_t id);

  // CreateSubstitutionOpHandler with these rules. Virtual, so that programs without tables link nothing of it.
  virtual std::unique_ptr<OpHandler> MakeHandler(std::string_view name, OpHandler& delegate);

 private:
  friend class SubstitutionOpHandler;
  struct Added {
    uint64_t id;
    std::shared_ptr<const Substitution> rule;
  };
  using Rules = std::vector<std::shared_ptr<const Substitution>>;

  bool Has(std::string_view op) const;
  Rules Find(std::string_view op) const;
  void VisitCallers(std::string_view op, FunctionRef<void(std::string_view)> visit) const;
  Status CheckLocked(const std::vector<Added>& all) const;

  CoreRuntime& runtime_;
  mutable std::mutex mutex_;
  std::vector<Added> rules_;
  uint64_t next_id_ = 1;
};

// A handler named `name` over `delegate`. Ops that have no rule are those of `delegate`; calls of others are decided
// when dtypes and shapes of their arguments are known, without waiting for their content, and run in place what the
// rule says. A result whose dtype or shape is another than the metadata function of the op that was called gives is an
// Internal error with both. Errors, chains and cancellation pass through. Element-wise ops without a rule are computed
// as groups where `delegate` does that; no op with a rule is part of one.
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateSubstitutionOpHandler(std::string_view name, CoreRuntime& runtime,
                                                                     OpHandler& delegate, RcRef<Substitutions> rules);

// A function of a library as a kernel.
struct SubstituteKernel {
  Kernel kernel;
  KernelOpHandler* handler;
  std::string name;  // "addone of libaddone.so"
};
using SubstituteLoader = std::function<StatusOr<SubstituteKernel>(std::string_view library, std::string_view function)>;

// The rules of a JSON text, which core/handlers/README.md describes; `file` is what errors call it. They begin with
// "file:line:column: ". `load` gives the functions of libraries; without it they are Unimplemented. A table that a
// library has itself need not name that, `own_library`. Nothing is added to the runtime, whose registry says what
// attributes are.
TANDEM_EXPORT StatusOr<std::vector<Substitution>> ParseSubstitutions(CoreRuntime& runtime, std::string_view text,
                                                                     std::string_view file,
                                                                     const SubstituteLoader& load = nullptr,
                                                                     std::string_view own_library = {});

}  // namespace tandem

#endif  // TANDEM_SUBSTITUTION_OP_HANDLER_H_
