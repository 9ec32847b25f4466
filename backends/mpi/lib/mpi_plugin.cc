// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The ops of the library: definitions, metadata functions, and kernels that hand their calls to the process group.

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "collectives.h"
#include "failure.h"
#include "process_group.h"
#include "reduction.h"
#include "tandem_plugin.h"

extern "C" TANDEM_PLUGIN_VERSION;

namespace tandem::mpi {

namespace {

#define RETURN_IF_ERROR(expr)                                                   \
  do {                                                                          \
    if (tandem_status* const failed = (expr); failed != nullptr) return failed; \
  } while (0)

using Api = tandem_plugin_api;

tandem_status* ErrorOf(const Api* api, const Failure& failure) {
  return failure.ok() ? nullptr : api->make_error(failure.code, failure.text);
}

tandem_plugin_tensor NewTensor() {
  tandem_plugin_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  return tensor;
}

// Attributes are those of the definition, so they are there and of its type.
struct Attrs {
  int64_t timeout_ms = 0;
  int64_t root = 0;
  Reduction reduction = Reduction::kNone;
};
tandem_status* GetAttrs(const Api* api, const tandem_plugin_call* call, Kind kind, Attrs& attrs) {
  RETURN_IF_ERROR(api->attr_int(api->attr(call, "timeout_ms"), 0, &attrs.timeout_ms));
  if (kind == Kind::kBroadcast) RETURN_IF_ERROR(api->attr_int(api->attr(call, "root"), 0, &attrs.root));
  if (kind == Kind::kAllReduce || kind == Kind::kReduceScatter) {
    const char* word = nullptr;
    size_t size = 0;
    RETURN_IF_ERROR(api->attr_string(api->attr(call, "reduction"), 0, &word, &size));
    attrs.reduction = ReductionOf({word, size});
  }
  return nullptr;
}

// Metadata functions. They join the processes, since shapes depend on how many there are.

tandem_status* Join(const Api* api, const Attrs& attrs) {
  if (attrs.timeout_ms > INT32_MAX) {
    return ErrorOf(api, Fail(TANDEM_INVALID_ARGUMENT, "timeout_ms must be in [1, %d], got %lld", INT32_MAX,
                             static_cast<long long>(attrs.timeout_ms)));
  }
  return ErrorOf(api, ProcessGroup::Get().Join(attrs.timeout_ms));
}

// Of the result of AllGather or ReduceScatter, from that of the input.
Failure ScaleFirstDim(Kind kind, tandem_plugin_tensor& tensor) {
  const char* const name = kind == Kind::kAllGather ? "x to gather" : "x to scatter";
  if (tensor.rank == 0) return Fail(TANDEM_INVALID_ARGUMENT, "%s must have a first dimension, got a scalar", name);
  const int64_t count = ProcessGroup::Get().count();
  int64_t& dim = tensor.dims[0];
  if (kind == Kind::kAllGather) {
    if (!__builtin_mul_overflow(dim, count, &dim)) return Failure();
    return Fail(TANDEM_INVALID_ARGUMENT, "the first dimension of %lld processes' x must be less than 2^63",
                static_cast<long long>(count));
  }
  if (dim % count != 0) {
    return Fail(TANDEM_INVALID_ARGUMENT, "first dimension of x must be a multiple of %lld processes, got %lld",
                static_cast<long long>(count), static_cast<long long>(dim));
  }
  dim /= count;
  return Failure();
}

tandem_status* CollectiveMetadata(const Api* api, tandem_plugin_call* call, void* user) {
  const Kind kind = *static_cast<const Kind*>(user);
  Attrs attrs;
  RETURN_IF_ERROR(GetAttrs(api, call, kind, attrs));
  tandem_plugin_tensor tensor = NewTensor();
  RETURN_IF_ERROR(api->input(call, 0, &tensor));
  if (attrs.reduction == Reduction::kMean && !CanReduce(tensor.dtype, attrs.reduction)) {
    return ErrorOf(
        api, Fail(TANDEM_INVALID_ARGUMENT, "the mean must be of f16, bf16, f32 or f64, got %s", NameOf(tensor.dtype)));
  }
  RETURN_IF_ERROR(Join(api, attrs));
  const int count = ProcessGroup::Get().count();
  if (attrs.root < 0 || attrs.root >= count) {
    return ErrorOf(api, Fail(TANDEM_INVALID_ARGUMENT, "root must be in [0, %d), the processes, got %lld", count,
                             static_cast<long long>(attrs.root)));
  }
  for (size_t i = 0; i < api->num_inputs(call); ++i) {
    RETURN_IF_ERROR(api->input(call, i, &tensor));
    const bool is_scaled = kind == Kind::kAllGather || kind == Kind::kReduceScatter;
    if (is_scaled) RETURN_IF_ERROR(ErrorOf(api, ScaleFirstDim(kind, tensor)));
    RETURN_IF_ERROR(api->describe_result(call, i, tensor.dtype, tensor.dims, tensor.rank));
  }
  return nullptr;
}

tandem_status* ProcessesMetadata(const Api* api, tandem_plugin_call* call, void*) {
  Attrs attrs;
  RETURN_IF_ERROR(GetAttrs(api, call, Kind::kFarewell, attrs));
  RETURN_IF_ERROR(Join(api, attrs));
  RETURN_IF_ERROR(api->describe_result(call, 0, TANDEM_I32, nullptr, 0));
  return api->describe_result(call, 1, TANDEM_I32, nullptr, 0);
}

// Kernels.

tandem_status* Processes(const Api* api, tandem_plugin_call* call, void*) {
  const int32_t values[] = {ProcessGroup::Get().rank(), ProcessGroup::Get().count()};
  for (size_t i = 0; i < 2; ++i) {
    void* to = nullptr;
    RETURN_IF_ERROR(api->allocate_result(call, i, &to));
    std::memcpy(to, &values[i], sizeof(values[i]));
  }
  return nullptr;
}

// FNV-1a over 64 bits.
uint64_t Hash(uint64_t hash, uint64_t value) {
  for (int i = 0; i < 8; ++i) hash = (hash ^ (value >> 8 * i & 0xFF)) * UINT64_C(0x100000001B3);
  return hash;
}

// A call of a collective op, which ends when the processes have met for it.
class Call final : public Job {
 public:
  Call(const Api* api, tandem_plugin_call* later, Kind kind, const Attrs& attrs)
      : api_(api), later_(later), kind_(kind), attrs_(attrs) {}

  void Run(Link& link) override { api_->finish(later_, RunOn(link)); }
  void Abandon() {
    api_->finish(later_, api_->make_error(TANDEM_CANCELLED, "the process ends"));
    delete this;
  }

 private:
  tandem_status* RunOn(Link& link);
  // Allocates the results, too.
  tandem_status* Prepare(Announcement& own);

  const Api* const api_;
  tandem_plugin_call* const later_;
  const Kind kind_;
  const Attrs attrs_;
  std::unique_ptr<Memory[]> tensors_;
};

tandem_status* Call::Prepare(Announcement& own) {
  own.num_tensors = api_->num_inputs(later_);
  own.reduction = attrs_.reduction;
  own.root = static_cast<int32_t>(attrs_.root);
  tensors_.reset(new (std::nothrow) Memory[own.num_tensors]);
  if (tensors_ == nullptr) return api_->make_error(TANDEM_RESOURCE_EXHAUSTED, "expected memory for a call, got none");
  own.shapes = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < own.num_tensors; ++i) {
    tandem_plugin_tensor input = NewTensor(), result = NewTensor();
    void* to = nullptr;
    RETURN_IF_ERROR(api_->input(later_, i, &input));
    RETURN_IF_ERROR(api_->result(later_, i, &result));
    RETURN_IF_ERROR(api_->allocate_result(later_, i, &to));
    own.dtype = input.dtype;
    own.num_elements += static_cast<uint64_t>(input.num_elements);
    own.shapes = Hash(own.shapes, input.rank);
    for (size_t dim = 0; dim < input.rank; ++dim) own.shapes = Hash(own.shapes, static_cast<uint64_t>(input.dims[dim]));
    const size_t element = SizeOf(input.dtype);
    tensors_[i] = {static_cast<const std::byte*>(input.data), static_cast<std::byte*>(to),
                   static_cast<size_t>(input.num_elements) * element,
                   static_cast<size_t>(result.num_elements) * element};
  }
  own.kind = kind_;
  return nullptr;
}

tandem_status* Call::RunOn(Link& link) {
  const Cancellation cancellation = {[](void* user) {
                                       const Call& call = *static_cast<const Call*>(user);
                                       return call.api_->is_cancelled(call.later_) != 0;
                                     },
                                     this};
  RETURN_IF_ERROR(ErrorOf(api_, link.Begin(attrs_.timeout_ms, cancellation)));
  Announcement own;
  tandem_status* const failed = Prepare(own);
  if (failed != nullptr) own.kind = Kind::kFailed;
  const Failure disagreed = Agree(link, own);
  if (failed != nullptr) return failed;
  RETURN_IF_ERROR(ErrorOf(api_, disagreed));
  return ErrorOf(api_, RunCollective(link, own, {tensors_.get(), static_cast<size_t>(own.num_tensors)}));
}

tandem_status* Collective(const Api* api, tandem_plugin_call* call, void* user) {
  const Kind kind = *static_cast<const Kind*>(user);
  Attrs attrs;
  RETURN_IF_ERROR(GetAttrs(api, call, kind, attrs));
  tandem_plugin_call* later = nullptr;
  RETURN_IF_ERROR(api->defer(call, &later));
  auto* const made = new (std::nothrow) Call(api, later, kind, attrs);
  if (made == nullptr) {
    api->finish(later, api->make_error(TANDEM_RESOURCE_EXHAUSTED, "expected memory for a call, got none"));
  } else if (!ProcessGroup::Get().Add(made)) {
    made->Abandon();
  }
  return nullptr;
}

// Definitions.

struct Op {
  const char* name;
  const char* inputs[2];
  const char* outputs[3];
  const char* attrs[5];
  const char* doc;
  uint32_t flags;
  tandem_plugin_metadata metadata;
  tandem_plugin_kernel kernel;
  uint64_t dtypes;
  Kind kind;
};

#define NUMBERS "T: {half, bfloat16, float, double, uint8, int8, uint16, int16, int32, uint32, int64, uint64}"
#define REDUCTION "reduction: {'sum', 'mean', 'min', 'max', 'prod'} = 'sum'"
#define TIMEOUT "timeout_ms: int >= 1 = 60000"
constexpr uint64_t kAll = TANDEM_DTYPE_BIT(TANDEM_STRING) - 2;
constexpr uint64_t kNumbers = kAll - TANDEM_DTYPE_BIT(TANDEM_BOOL) - TANDEM_DTYPE_BIT(TANDEM_C64);

const Op kOps[] = {
    {"tandem.AllReduce",
     {"x: N * T"},
     {"y: N * T"},
     {"N: int >= 1", NUMBERS, REDUCTION, TIMEOUT},
     "Gives every process the reduction of what all have, element by element.",
     TANDEM_OP_SIDE_EFFECTS,
     CollectiveMetadata,
     Collective,
     kNumbers,
     Kind::kAllReduce},
    {"tandem.Broadcast",
     {"x: N * T"},
     {"y: N * T"},
     {"N: int >= 1", "T: type", "root: int = 0", TIMEOUT},
     "Gives every process what the root has.",
     TANDEM_OP_SIDE_EFFECTS,
     CollectiveMetadata,
     Collective,
     kAll,
     Kind::kBroadcast},
    {"tandem.AllGather",
     {"x: T"},
     {"y: T"},
     {"T: type", TIMEOUT},
     "Gives every process what all have, one after the other along the first dimension.",
     TANDEM_OP_SIDE_EFFECTS,
     CollectiveMetadata,
     Collective,
     kAll,
     Kind::kAllGather},
    {"tandem.ReduceScatter",
     {"x: T"},
     {"y: T"},
     {NUMBERS, REDUCTION, TIMEOUT},
     "Gives every process its part, along the first dimension, of the reduction of what all have.",
     TANDEM_OP_SIDE_EFFECTS,
     CollectiveMetadata,
     Collective,
     kNumbers,
     Kind::kReduceScatter},
    {"tandem.Processes",
     {nullptr},
     {"rank: int32", "count: int32"},
     {TIMEOUT},
     "Says which process this is, and how many there are.",
     0,
     ProcessesMetadata,
     Processes,
     0,
     Kind::kFarewell},
};

tandem_status* AddOp(const Api* api, tandem_plugin* plugin, const Op& op) {
  void* const kind = const_cast<Kind*>(&op.kind);  // read alone
  tandem_plugin_op_def def = {};
  def.struct_size = sizeof(def);
  def.name = op.name;
  def.inputs = op.inputs;
  def.outputs = op.outputs;
  def.attrs = op.attrs;
  def.doc = op.doc;
  def.flags = op.flags;
  def.metadata = op.metadata;
  def.user = kind;
  RETURN_IF_ERROR(api->define_op(plugin, &def));
  tandem_plugin_kernel_def kernel = {};
  kernel.struct_size = sizeof(kernel);
  kernel.op = op.name;
  kernel.dtypes = op.dtypes;
  kernel.run = op.kernel;
  kernel.user = kind;
  return api->add_kernel(plugin, &kernel);
}

}  // namespace

}  // namespace tandem::mpi

extern "C" tandem_status* tandem_plugin_init(const tandem_plugin_api* api, tandem_plugin* plugin, void*) {
  constexpr size_t kNeeded = offsetof(tandem_plugin_api, finish) + sizeof(api->finish);
  if (api->struct_size < kNeeded) {
    return api->make_error(TANDEM_FAILED_PRECONDITION, "expected a runtime whose kernels can defer their calls");
  }
  for (const tandem::mpi::Op& op : tandem::mpi::kOps) RETURN_IF_ERROR(tandem::mpi::AddOp(api, plugin, op));
  return nullptr;
}
