// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpDef: what an op is, independent of any device: its signature, attributes, documentation and metadata function.

#ifndef TANDEM_OP_DEF_H_
#define TANDEM_OP_DEF_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/element_expression.h"
#include "tandem/export.h"
#include "tandem/metadata_function.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"

namespace tandem {

// One input or output of the definition. Exactly one of `dtype`, `type_attr`, `type_list_attr`, `any_dtype` says what
// its elements are; `number_attr` makes it a sequence of tensors of the same dtype.
struct ArgDef {
  std::string name;
  DType dtype = DType::kInvalid;  // fixed
  int type_attr = -1;             // index into OpDef::attrs
  int type_list_attr = -1;        // one tensor for each dtype of the list
  int number_attr = -1;           // "N * T"
  bool any_dtype = false;         // outputs only: the metadata function decides
  bool host_input = false;        // inputs only: its content decides the result's shape; lives on the host

  bool IsVariadic() const { return number_attr >= 0 || type_list_attr >= 0; }
};

enum class AttrKind : uint8_t { kType, kInt, kFloat, kBool, kString, kShape, kTensor, kFunction, kAny };

// One attribute of the definition. Values given in a call have the attribute types dtype (kType), i64 (kInt), f32
// (kFloat), bool, string, shape, tensor and function; lists are arrays of these.
struct AttrDef {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  bool is_list = false;
  DTypeSet allowed_dtypes = DTypeSet::All();  // kType
  std::vector<std::string> allowed_strings;   // kString; empty: any
  bool has_minimum = false;
  int64_t minimum = 0;  // of the value (kInt), or of the length (lists)
  bool has_default = false;
  bool inferred = false;  // its value follows from the inputs, and a call need not set it
  std::string spec;       // as written
};

// What an op does with elements, for those who join ops, plan memory or leave ops out.
enum class OpKind : uint8_t {
  kOther,
  // An element of the result is a function of the elements at its place in the inputs, which broadcast.
  kElementwise,
  // An element of the result is made of all elements of the first input along some dimensions.
  kReduction,
  // All elements of the results are elements of inputs: shapes, attributes and host inputs alone say which.
  kLayout,
};

// Immutable once registered. Built by OpDefBuilder. A registered one lives until it is removed and nobody shares it.
struct TANDEM_EXPORT OpDef : std::enable_shared_from_this<OpDef> {
  static constexpr int kMaxAttrs = 32;

  // Keeps a registered definition; null for one that is not registered.
  std::shared_ptr<const OpDef> Share() const { return weak_from_this().lock(); }

  std::string_view name;  // "tf.MatMul"; lives as long as the registry, whatever becomes of the definition
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;  // at most kMaxAttrs
  std::string doc;             // first sentence is the summary
  bool has_side_effects = false;
  MetadataFunction metadata = nullptr;           // null: the result's metadata comes with its data (MD-3)
  std::shared_ptr<const void> code;              // keeps the code of `metadata` loaded; null if that is for good
  std::shared_ptr<const void> metadata_closure;  // of a metadata function that is a closure; ends before `code`
  bool has_host_inputs = false;
  OpKind kind = OpKind::kOther;
  // What an element-wise op computes, by dtype; empty where that has not been written as an expression.
  std::span<const ElementExpression> expressions;
  // How far an element of an element-wise op's result may be, on any device, from the exact result rounded to its
  // dtype, counted in numbers of that dtype (NU-1): of f32 and f64; of f16 and bf16 it is 1, or 0 if this is 0; of c64
  // it is 4, in f32 numbers at the size of the larger part; integers are exact. -1: not stated.
  int max_ulp = -1;
  // The input that result 0 has all elements of, in their order, so that it may be the same memory; -1: none.
  int aliased_input = -1;
  // The type attribute by whose value kernels are looked up: "T" if there is one, else the first; -1 if none.
  int kernel_type_attr = -1;
  // Values of the attributes that have defaults, by name; null if none has.
  RcRef<const FrozenOpAttrs> defaults;
  std::shared_ptr<const std::string> own_name;  // of a definition that is not registered

  bool HasVariadicInputs() const;
  bool HasVariadicOutputs() const;
  // Index of the attribute, or -1.
  int FindAttr(std::string_view attr_name) const;
};

// Collects the parts of a definition in the grammar of TensorFlow's op definitions and checks them together.
//
//   OpDefBuilder("tf.MatMul").Input("a: T").Input("b: T").Output("product: T")
//       .Attr("T: {half, float, double, int32}").Attr("transpose_a: bool = false")
//       .Metadata<&MatMulMetadata>().Doc("Multiplies two matrices.")
//
// Argument specs are "name: TYPE", "name: N * TYPE" or "name: LIST", where TYPE is a dtype ("float", "f32") or a type
// attribute, N an int attribute with a minimum and LIST a list(type) attribute; an output may be "name: any". So that
// arguments can be told apart, all inputs that vary in number do so by the same attribute. Attribute specs are
// "name: KIND", with KIND one of type, int, float, bool, string, shape, tensor, func, any, list(KIND), a set of dtypes
// "{half, float}", a set of strings "{'SAME', 'VALID'}", numbertype, realnumbertype; then optionally ">= 1" (of an int,
// or of a list's length) and "= default": true, 3, 1e-5, 'text', "text", DT_FLOAT or float, [2, -1] (a shape; -1 is
// unknown), [1, 2] (a list), 'name' (a func). Tensors and values of any kind have no default.
class TANDEM_EXPORT OpDefBuilder {
 public:
  explicit OpDefBuilder(std::string_view name);
  explicit OpDefBuilder(const char* name);
  OpDefBuilder(const OpDefBuilder&);
  OpDefBuilder(OpDefBuilder&&) noexcept;
  OpDefBuilder& operator=(const OpDefBuilder&);
  OpDefBuilder& operator=(OpDefBuilder&&) noexcept;
  ~OpDefBuilder();

  OpDefBuilder& Input(std::string_view spec);
  // An input whose content decides the result's shape (axes, sizes). Handlers get it as an available host tensor.
  OpDefBuilder& HostInput(std::string_view spec);
  OpDefBuilder& Output(std::string_view spec);
  OpDefBuilder& Attr(std::string_view spec);
  OpDefBuilder& Doc(std::string_view text);
  // The same for literals, as nearly all are: calls that take less code.
  OpDefBuilder& Input(const char* spec);
  OpDefBuilder& HostInput(const char* spec);
  OpDefBuilder& Output(const char* spec);
  OpDefBuilder& Attr(const char* spec);
  OpDefBuilder& Doc(const char* text);
  // Whether a call needs a chain (CH-1).
  OpDefBuilder& SideEffects();
  // What kind of op it is. `expressions` outlive the definition.
  OpDefBuilder& Elementwise(std::span<const ElementExpression> expressions = {});
  // See OpDef::max_ulp.
  OpDefBuilder& MaxUlp(int max_ulp);
  OpDefBuilder& Reduction();
  OpDefBuilder& Layout();
  // Of the kind kLayout, where result 0 is another view of input `input`.
  OpDefBuilder& Aliases(int input);
  template <auto fn>
  OpDefBuilder& Metadata() {
    metadata_ = EraseMetadataFunction<fn>();
    metadata_signature_ = MetadataSignatureOf<fn>();
    return *this;
  }
  // A closure, for ops defined at run time; the definition keeps it. It must be callable from several threads at once.
  template <typename Closure>
  requires(!std::is_convertible_v<Closure, MetadataFunction>) OpDefBuilder& Metadata(Closure closure) {
    metadata_ = EraseMetadataClosure<Closure>();
    metadata_signature_ = internal::MetadataClosure<Closure>::Adapter::Signature();
    metadata_closure_ = std::make_shared<const Closure>(std::move(closure));
    return *this;
  }
  // An already erased one; whether it fits the definition is not checked. `closure` is for it to find in its frame.
  OpDefBuilder& Metadata(MetadataFunction fn, std::shared_ptr<const void> closure = nullptr) {
    metadata_ = fn;
    metadata_signature_.reset();
    metadata_closure_ = std::move(closure);
    return *this;
  }

  // The parsed definition. On failure one error whose message lists every faulty spec with its reason.
  StatusOr<OpDef> Build() const;
  std::string_view name() const { return name_; }

 private:
  std::string name_;
  std::vector<std::pair<std::string, bool>> inputs_;  // spec, host input
  std::vector<std::string> outputs_;
  std::vector<std::string> attrs_;
  std::string doc_;
  bool side_effects_ = false;
  OpKind kind_ = OpKind::kOther;
  std::span<const ElementExpression> expressions_;
  int max_ulp_ = -1;
  int aliased_input_ = -1;
  MetadataFunction metadata_ = nullptr;
  std::shared_ptr<const void> metadata_closure_;
  std::optional<MetadataSignature> metadata_signature_;
};

}  // namespace tandem

#endif  // TANDEM_OP_DEF_H_
