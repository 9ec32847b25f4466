// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Definitions and kernels of the ops that call compiled functions.

#include "tandem/tvm/tvm_ops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "tandem/name_table.h"
#include "tandem/small_array.h"
#include "target.h"

namespace tandem::tvm {

namespace {

constexpr const char* kStatic = "tandem.TvmDso";
constexpr const char* kDynamic = "tandem.TvmDsoDynamic";

// Of functions that nobody knows anything of: more than that of simple element-wise ops.
constexpr float kCostPerElement = 4.0f;

// A function that calls of a runtime have named.
class Known : public RefCounted<Known> {
 public:
  // `name` is the function's, a NUL, and the path.
  Known(std::string_view name, size_t function_size, PackedFunction function)
      : function_(std::move(function)), name_(name), function_size_(function_size) {}
  std::string_view name() const { return name_; }
  bool Is(std::string_view path, std::string_view function) const {
    const std::string_view name = name_;
    return name.substr(0, function_size_) == function && name.substr(function_size_ + 1) == path;
  }
  const PackedFunction::Target& target() const { return *function_.target(); }

 private:
  const PackedFunction function_;
  const std::string name_;
  const size_t function_size_;
};

// What calls with one frozen set of attributes are calls of.
struct Called {
  OpAttrsRef attrs;
  const Known* known;
};

// The functions of a runtime, by function and path.
class TvmContext final : public SharedContext {
 public:
  ~TvmContext() override {
    for (const std::atomic<const Called*>& called : called_) delete called.load(std::memory_order_relaxed);
  }
  Status Register(CoreRuntime& runtime, KernelOpHandler& handler);

 private:
  static Status Define(OpRegistry& registry);
  Status AddKernels(KernelOpHandler& handler);
  StatusOr<const Known*> Find(std::string_view path, std::string_view function);
  StatusOr<const Known*> FindOrLoad(std::string_view path, std::string_view function);
  // Kernels whose closure is the context.
  template <size_t first_input>
  static Status RunCalled(const void* context, KernelFrame& frame) {
    return const_cast<TvmContext*>(static_cast<const TvmContext*>(context))->Run(first_input, frame);
  }
  Status Run(size_t first_input, KernelFrame& frame);

  static constexpr size_t kNumRecent = 64;
  // The first sets of attributes, by the addresses of their entries: that somebody calls with them again is likely, and
  // what is here stays.
  std::array<std::atomic<const Called*>, kNumRecent> called_{};
  // Those called last, by a hash of their names: to find them there needs no key to be put together. What is in the
  // table stays there.
  std::array<std::atomic<const Known*>, kNumRecent> recent_{};
  NameTable<const Known> functions_;
  std::mutex mutex_;
  std::optional<Status> defined_;
  std::map<const KernelOpHandler*, Status> registered_;
};

StatusOr<const Known*> TvmContext::Find(std::string_view path, std::string_view function) {
  const uint64_t hash = internal::HashName(function) + internal::HashName(path);
  std::atomic<const Known*>& recent = recent_[static_cast<size_t>(hash % kNumRecent)];
  const Known* known = recent.load(std::memory_order_acquire);
  if (known != nullptr && known->Is(path, function)) [[likely]]
    return known;
  TANDEM_ASSIGN_OR_RETURN(known, FindOrLoad(path, function));
  recent.store(known, std::memory_order_release);
  return known;
}

StatusOr<const Known*> TvmContext::FindOrLoad(std::string_view path, std::string_view function) {
  // Neither may have a NUL.
  SmallArray<char, 256> name;
  if (!name.Init(function.size() + 1 + path.size())) return Status::OutOfMemory();
  std::memcpy(name.data(), function.data(), function.size());
  name[function.size()] = '\0';
  std::memcpy(name.data() + function.size() + 1, path.data(), path.size());
  const std::string_view key(name.data(), name.size());
  if (const Known* const known = functions_.Find(key)) return known;
  TANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Library> library, Library::Load(path));
  TANDEM_ASSIGN_OR_RETURN(PackedFunction found, library->Find(function));
  const Known* const known = functions_.Insert(MakeRef<const Known>(key, function.size(), std::move(found)));
  if (known == nullptr) return Status::OutOfMemory();
  return known;
}

Status TvmContext::Run(size_t first_input, KernelFrame& frame) {
  const OpAttrsRef& attrs = frame.attrs();
  const AttrEntry* const entries = attrs.IsFrozen() ? attrs.entries().data() : nullptr;
  std::atomic<const Called*>& slot = called_[reinterpret_cast<uintptr_t>(entries) / sizeof(AttrEntry) % kNumRecent];
  const Called* const called = slot.load(std::memory_order_acquire);
  if (called != nullptr && called->attrs.entries().data() == entries) [[likely]]
    return RunKernel(called->known->target(), first_input, frame);
  std::string_view path, function;
  attrs.Get("lib_path", &path);
  attrs.Get("func_name", &function);
  TANDEM_ASSIGN_OR_RETURN(const Known* const known, Find(path, function));
  if (called == nullptr && entries != nullptr) {
    std::unique_ptr<Called> made(new (std::nothrow) Called{attrs.Freeze(), known});
    const Called* none = nullptr;
    if (slot.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) static_cast<void>(made.release());
  }
  return RunKernel(known->target(), first_input, frame);
}

// The definition has given the results the dtypes that the call names.
Status CheckDTypes(std::span<const TensorMetadata> results) {
  for (const TensorMetadata& result : results) {
    if (kFixedSizeDTypes.Contains(result.dtype)) continue;
    return InvalidArgument("output_dtype must be of ", kFixedSizeDTypes, ", got ", result.dtype);
  }
  return Status();
}

Status SetShapes(std::span<const TensorShape> shapes, std::span<const TensorMetadata* const> inputs,
                 std::span<TensorMetadata> results) {
  if (shapes.empty() && inputs.empty()) {
    return InvalidArgument("expected output_shape, or an input whose shape results are to have, got neither");
  }
  if (!shapes.empty() && shapes.size() != results.size()) {
    return InvalidArgument("expected an output_shape for each of ", results.size(), " results, got ", shapes.size());
  }
  for (size_t i = 0; i < results.size(); ++i) results[i].shape = shapes.empty() ? inputs[0]->shape : shapes[i];
  return Status();
}

Status StaticMetadata(const MetadataFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckDTypes(frame.results));
  std::span<const TensorShape> shapes;
  frame.attrs.GetArray("output_shape", &shapes);
  return SetShapes(shapes, frame.args, frame.results);
}

Status DynamicMetadata(HostInput shape, VariadicMetadata, std::span<TensorMetadata> results) {
  TANDEM_RETURN_IF_ERROR(CheckDTypes(results));
  const TensorMetadata& given = shape.metadata();
  const bool has_rows = given.rank() == 2;
  if (given.rank() != 1 && !(has_rows && std::cmp_equal(given.dim(0), results.size()))) {
    return InvalidArgument("output_shape must have one dimension, or two with a row for each of ", results.size(),
                           " results, got ", given);
  }
  const int64_t rank = given.dim(given.rank() - 1);
  for (size_t i = 0; i < results.size(); ++i) {
    TensorShape& result = results[i].shape;
    result = TensorShape();
    for (int64_t j = 0; j < std::min<int64_t>(rank, TensorShape::kMaxRank + 1); ++j) {
      result.Append(shape.Int((has_rows ? static_cast<int64_t>(i) * rank : 0) + j));
    }
  }
  return Status();
}

// A kernel whose closure is the function.
Status RunTarget(const void* target, KernelFrame& frame) {
  return RunKernel(*static_cast<const PackedFunction::Target*>(target), /*first_input=*/0, frame);
}

OpDefBuilder Definition(const char* name) {
  return std::move(OpDefBuilder(name)
                       .Attr("lib_path: string")
                       .Attr("func_name: string")
                       .Attr("output_dtype: list(type) >= 1")
                       .Attr("input_types: list(type)")
                       .Output("outputs: output_dtype"));
}

Status TvmContext::Register(CoreRuntime& runtime, KernelOpHandler& handler) {
  const std::lock_guard lock(mutex_);
  if (!defined_) defined_ = Define(runtime.registry());
  TANDEM_RETURN_IF_ERROR(*defined_);
  const auto [known, is_new] = registered_.try_emplace(&handler);
  if (is_new) known->second = AddKernels(handler);
  return known->second;
}

Status TvmContext::Define(OpRegistry& registry) {
  OpDefBuilder with_static = Definition(kStatic);
  with_static.Attr("output_shape: list(shape) = []")
      .Input("inputs: input_types")
      .Metadata<&StaticMetadata>()
      .Doc("Calls a function of a library that TVM compiled, by its classic ABI or by tvm-ffi.");
  OpDefBuilder with_dynamic = Definition(kDynamic);
  with_dynamic.Attr("S: {int32, int64}")
      .HostInput("output_shape: S")
      .Input("inputs: input_types")
      .Metadata<&DynamicMetadata>()
      .Doc("As tandem.TvmDso, with results of a shape that a tensor has as its values.");
  return registry.RegisterAll({with_static, with_dynamic});
}

Status TvmContext::AddKernels(KernelOpHandler& handler) {
  // The context outlives the handler.
  const std::shared_ptr<const void> self(std::shared_ptr<const void>(), this);
  Kernel with_static(&RunCalled<0>, self, KernelSignature());
  TANDEM_RETURN_IF_ERROR(handler.AddKernel(kStatic, std::move(with_static).WithCost(kCostPerElement)));
  Kernel with_dynamic(&RunCalled<1>, self, KernelSignature());
  const DTypeSet shapes = {DType::kI32, DType::kI64};
  return handler.AddKernel(kDynamic, shapes, std::move(with_dynamic).WithCost(kCostPerElement));
}

}  // namespace

Status RegisterOps(CoreRuntime& runtime, KernelOpHandler& handler) {
  const RcRef<TvmContext> context = runtime.GetOrCreateSharedContext<TvmContext>();
  return context ? context->Register(runtime, handler) : Status::OutOfMemory();
}

Status DefineOp(OpLibrary& library, KernelOpHandler& cpu, std::string_view name, int num_inputs,
                const PackedFunction& function, const OpOutputs& outputs) {
  constexpr int kMostInputs = 16;
  if (!function.IsValid()) return InvalidArgument("expected a function for ", name, ", got null");
  if (num_inputs < 0 || num_inputs > kMostInputs) {
    return InvalidArgument("expected at most ", kMostInputs, " inputs of ", name, ", got ", num_inputs);
  }
  if (num_inputs == 0 && (outputs.dtypes.empty() || outputs.shapes.empty())) {
    return InvalidArgument("expected dtypes and shapes of the results of ", name, ", which has no input");
  }
  OpDefBuilder def(name);
  MessageBuilder allowed;
  allowed.Append(kFixedSizeDTypes);
  for (int i = 0; i < num_inputs; ++i) {
    const std::string number = std::to_string(i);
    def.Input("x" + number + ": T" + number).Attr("T" + number + ": " + std::string(allowed.view()));
  }
  if (outputs.dtypes.empty()) def.Output("y: T0");
  for (size_t i = 0; i < outputs.dtypes.size(); ++i) {
    def.Output("y" + std::to_string(i) + ": " + std::string(DTypeName(outputs.dtypes[i])));
  }
  def.Metadata([outputs](const MetadataFrame& frame) {
    for (size_t i = 0; i < frame.results.size(); ++i) {
      frame.results[i].dtype = outputs.dtypes.empty() ? frame.args[0]->dtype : outputs.dtypes[i];
    }
    return SetShapes(outputs.shapes, frame.args, frame.results);
  });
  TANDEM_RETURN_IF_ERROR(library.Define(def));
  Kernel kernel = Kernel(&RunTarget, function.target(), KernelSignature()).WithCost(kCostPerElement);
  if (num_inputs == 0) return library.AddKernel(cpu, name, std::move(kernel));
  return library.AddKernel(cpu, name, kFixedSizeDTypes, std::move(kernel));
}

StatusOr<SubstituteKernel> LoadSubstitute(KernelOpHandler& cpu, std::string_view path, std::string_view function) {
  TANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Library> library, Library::Load(path));
  TANDEM_ASSIGN_OR_RETURN(const PackedFunction found, library->Find(function));
  const auto run = [](const void* closure, KernelFrame& frame) -> Status {
    const auto* const target = static_cast<const PackedFunction::Target*>(closure);
    if (frame.def().metadata == nullptr) {
      return InvalidArgument("expected an op whose results are known before it runs, for ",
                             std::string_view(target->name));
    }
    for (size_t i = 0; i < frame.num_results(); ++i) {
      const TensorMetadata& result = frame.result_metadata(i);
      if (kFixedSizeDTypes.Contains(result.dtype)) continue;
      return InvalidArgument("expected results of ", kFixedSizeDTypes, " for ", std::string_view(target->name),
                             ", got ", result);
    }
    return RunTarget(closure, frame);
  };
  Kernel kernel(run, found.target(), KernelSignature());
  return SubstituteKernel{std::move(kernel).WithCost(kCostPerElement), &cpu, found.name()};
}

StatusOr<std::vector<Substitution>> LoadSubstitutions(CoreRuntime& runtime, KernelOpHandler& cpu,
                                                      std::string_view path) {
  TANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Library> library, Library::Load(path));
  const char* const text = library->substitutions();
  if (text == nullptr) {
    return MakeError(StatusCode::kNotFound, "expected ", library->path(),
                     " to have a table of substitutions (tandem_substitutions)");
  }
  const SubstituteLoader load = [&cpu](std::string_view from, std::string_view function) {
    return LoadSubstitute(cpu, from, function);
  };
  return ParseSubstitutions(runtime, text, library->path(), load, library->path());
}

}  // namespace tandem::tvm
