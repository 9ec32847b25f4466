// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpSignature: checks one call against the op's definition (EX-5) and finds what the definition leaves to the call.

#ifndef TANDEM_CORE_LIB_DEFS_OP_SIGNATURE_H_
#define TANDEM_CORE_LIB_DEFS_OP_SIGNATURE_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "tandem/host_tensors.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// Whether a host tensor is dense, or every kernel and transfer can make it so.
inline bool IsExpandable(const Tensor& tensor) { return tensor.IsA(kDenseHost) || tensor.IsA(kScalarHost); }

// Prepared once per resolved op, then used by any thread. Refers to the definition.
class OpSignature {
 public:
  explicit OpSignature(const OpDef& def);
  ~OpSignature();
  OpSignature(const OpSignature& other) : OpSignature(other.def_) {}
  OpSignature& operator=(const OpSignature&) = delete;

  // Ok if the number of arguments can be right; what variadic inputs leave open is checked by Bind.
  Status CheckArgumentCount(size_t num_args) const {
    if (num_args == num_fixed_inputs_ && !variadic_inputs_) [[likely]]
      return Status();
    return CheckArgumentCountSlow(num_args);
  }

  // Checks, in this order, dtypes of all arguments, the attributes as the definition lists them, and the number of
  // results (MD-6); returns the dtype by which the kernel is
  // looked up. `result_dtypes` gets one dtype per result, kInvalid where the metadata function decides.
  StatusOr<DType> Bind(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                       std::span<TensorMetadata> results) const;

  // Name of the definition's input or output that the position belongs to.
  std::string_view InputName(size_t position, size_t num_args) const;
  // The error of an argument in a representation that neither kernels nor transfers to devices take.
  Status NotDense(size_t position, size_t num_args, const Tensor& given) const;
  // The input that the position belongs to, for a number of arguments that can be right.
  const ArgDef& InputAt(size_t position, size_t num_args) const;
  // For each argument position, whether it is a host input.
  bool IsHostInput(size_t position, size_t num_args) const {
    return def_.has_host_inputs && InputAt(position, num_args).host_input;
  }

  // Whether a call may give these attributes: each is defined, has a value that it may have, and follows from nothing
  // else; none that is required is missing. Where this is false, Bind has the last word.
  bool Accepts(const OpAttrsRef& attrs) const;

  // Whether a call may give this value for `attr`, one of the definition's.
  static Status CheckAttr(const AttrDef& attr, const AttrEntry& entry);
  // The error of the first name, of those given, that the definition does not have.
  Status UnknownAttr(const OpAttrsRef& attrs) const;

 private:
  static constexpr size_t kNoList = SIZE_MAX;
  // What the call has bound so far, by attribute index.
  struct Bindings {
    DType types[OpDef::kMaxAttrs];
    int64_t numbers[OpDef::kMaxAttrs];  // counts and integers; -1 if not bound
    size_t lists[OpDef::kMaxAttrs];     // of a list(type) that an input has: where its arguments begin
    // What the call itself gives, so that each name is compared once.
    const AttrEntry* const* given;
    bool has_unknown;  // whether it gives what is not defined
    bool is_checked;   // whether the values of these attributes have been found right before
  };
  // A frozen set of attributes whose names and values are right, as calls give it again and again, and what it gives.
  struct Checked {
    OpAttrsRef attrs;
    const AttrEntry* given[OpDef::kMaxAttrs];
  };
  // The first sets by the addresses of their entries. They stay, and with them what they refer to: none that is large.
  struct CheckedSets {
    static constexpr size_t kMost = 16;
    std::atomic<const Checked*> slots[kMost]{};
  };

  Status CheckArgumentCountSlow(size_t num_args) const;
  StatusOr<DType> BindSimple(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                             std::span<TensorMetadata> results) const;
  StatusOr<DType> BindGeneral(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                              std::span<TensorMetadata> results) const;
  void BindGiven(const OpAttrsRef& attrs, const AttrEntry** given, Bindings& bindings) const;
  const Checked* FindChecked(const OpAttrsRef& attrs) const;
  void KeepChecked(const OpAttrsRef& attrs, const Bindings& bindings) const;
  Status BindInputs(std::span<const TensorMetadata* const> args, Bindings& bindings) const;
  Status BindOutputs(std::span<const TensorMetadata* const> args, const Bindings& bindings,
                     std::span<TensorMetadata> results) const;
  Status BindList(const ArgDef& input, size_t position, std::span<const TensorMetadata* const> given,
                  std::span<const TensorMetadata* const> args, Bindings& bindings) const;
  Status BindType(int attr, size_t position, const ArgDef& input, const TensorMetadata& given,
                  std::span<const TensorMetadata* const> args, Bindings& bindings) const;
  Status BindAttrs(const OpAttrsRef& attrs, Bindings& bindings) const;
  const AttrEntry* FindValid(int attr, const Bindings& bindings) const;
  // Of an attribute that the call does not give; null if there is none.
  const AttrEntry* FindDefault(const AttrDef& attr) const;
  StatusOr<size_t> SequenceLength(const ArgDef& input, size_t num_args, const Bindings& bindings) const;
  Status WrongCount(std::string_view what, uint64_t expected, size_t given) const;

  const OpDef& def_;
  size_t num_fixed_inputs_ = 0;
  int num_variadic_inputs_ = 0;
  bool variadic_inputs_ = false;
  bool variadic_outputs_ = false;
  bool has_required_attrs_ = false;  // beyond those that follow from the inputs
  bool binds_attrs_ = false;         // whether types or numbers may come from attributes
  bool simple_ = false;              // no variadic or list arguments
  mutable std::atomic<CheckedSets*> checked_{nullptr};
};

// How a call stores values of this kind, other than kAny.
AttrType StoredType(AttrKind kind);
// "i64", "list(f32)"; the attribute type that a call must give for `attr`.
void AppendExpectedType(MessageBuilder& out, const AttrDef& attr);

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_DEFS_OP_SIGNATURE_H_
