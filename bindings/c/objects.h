// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What stands behind the opaque types of tandem.h, and what its functions share.

#ifndef TANDEM_BINDINGS_C_OBJECTS_H_
#define TANDEM_BINDINGS_C_OBJECTS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem.h"
#include "tandem/core_runtime.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/location_texts.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"
#include "tandem/small_array.h"
#include "tandem/substitution_op_handler.h"

namespace tandem::c {

// What a runtime keeps for functions that are not part of every WebAssembly module.
class RunningPart {
 public:
  virtual ~RunningPart() = default;
};

// Tables of substitutions, of substitutions.cc.
class SubstitutionTables : public RunningPart {
 public:
  virtual StatusOr<RcRef<Substitutions>> Find(std::string_view name) = 0;
};

// What runs behind a tandem_runtime: ops, the CPU, and the device that calls go to unless they say otherwise.
struct Running {
  explicit Running(HostContext::Options options) : core(std::move(options)) {}
  HostContext& host() { return core.host(); }
  std::unique_ptr<RunningPart> layers;  // of layers.cc; null: none. What is in `core` reports to it.
  CoreRuntime core;
  std::unique_ptr<SubstitutionTables> substitutions;  // null: none
  KernelOpHandler* cpu = nullptr;
  OpHandler* device = nullptr;
  std::mutex adding;  // of a device, of `layers` and `substitutions`
};

// Makes `runtime`, which nobody else has seen, run with the CPU, all ops and `device`; null for the CPU alone.
Status StartRuntime(tandem_runtime& runtime, HostContext::Options options, const char* device = nullptr);
// Where calls run that name `device`, or null; NotFound says which devices there are.
StatusOr<OpHandler*> FindDevice(Running& runtime, const char* device);
// The device of a module, added if the runtime has none of that name yet.
StatusOr<OpHandler*> LoadDevice(Running& runtime, std::string_view module, const OpAttrsRef& settings);
// The same for a device that comes with the library.
StatusOr<OpHandler*> AddDevice(Running& runtime, std::string_view device);
// The device that a text of tandem_layers_add describes.
StatusOr<OpHandler*> AddLayers(Running& runtime, std::string_view text);
// The bytes, or no limit for 0 and for what no size_t can hold.
size_t MemoryLimit(uint64_t bytes);

// Errors.

// Null for ok; otherwise an error object for the C caller, ready-made if memory is exhausted.
tandem_status* ToC(const Status& status);
template <typename... Parts>
tandem_status* WrongArgument(const Parts&... parts) {
  return ToC(InvalidArgument(parts...));
}

// Callbacks.

// While one lives, its thread is inside of a callback, and `runtime` is not destroyed if it is given.
class CallbackScope {
 public:
  explicit CallbackScope(tandem_runtime* runtime);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  // Whether the calling thread is in a callback.
  static bool IsInside();

 private:
  tandem_runtime* runtime_;
};

// Lets `value`, when available, call back; keeps it alive until then. ResourceExhausted if that is impossible.
Status CallWhenReady(tandem_runtime& runtime, RcRef<AsyncValue> value, tandem_ready_callback callback, void* user);

// Waits for one value: ok, its error, or why waiting failed.
Status AwaitValue(Running& runtime, const AsyncValue* value, int64_t timeout_ns);
// `timeout_ns` from now; the end of time if it is negative or beyond that.
std::chrono::steady_clock::time_point DeadlineAfter(int64_t timeout_ns);

// Objects that refer to their runtime by more than memory: they let go of it when it is destroyed.
class Dependent {
 public:
  explicit Dependent(tandem_runtime& runtime);
  Dependent(const Dependent&) = delete;
  Dependent& operator=(const Dependent&) = delete;
  tandem_runtime& runtime() const { return *runtime_; }

 protected:
  virtual ~Dependent();

 private:
  friend struct ::tandem_runtime;
  virtual void LetGo() = 0;

  RcRef<tandem_runtime> runtime_;
  Dependent* previous_ = nullptr;
  Dependent* next_ = nullptr;
};

// Structs with a `struct_size`.

// A struct as the caller's header has it: of an older one, members are missing at the end, and zero here; all of them
// for null. Wrong if it is smaller than `least`, which it was in the first version.
template <typename T>
Status ReadStruct(const T* from, size_t least, T* to) {
  *to = T{};
  if (from == nullptr) return Status();
  if (from->struct_size < least) {
    return InvalidArgument("expected a struct_size of at least ", least, ", got ", from->struct_size);
  }
  std::memcpy(to, from, std::min(from->struct_size, sizeof(T)));
  return Status();
}
// The size up to the end of the last member of the first version.
#define TANDEM_C_LEAST_SIZE(type, last_member) (offsetof(type, last_member) + sizeof(type::last_member))

// Values from C. Each is ok or says what is wrong.

Status CheckShape(const int64_t* dims, size_t rank, TensorShape* shape);
Status CheckDType(tandem_dtype dtype);
// Dtype and shape of dense data of `size` bytes.
Status CheckDense(tandem_dtype dtype, const int64_t* dims, size_t rank, const void* data, size_t size,
                  TensorMetadata* metadata);
// `sizes` may be null. `strings` and `views` have `count` elements.
Status CheckStrings(const char* const* strings, const size_t* sizes, size_t count, std::string_view* views);
// The text with a NUL behind it, for tandem_free; null if memory is exhausted.
char* CopyText(std::string_view text);
// Such a copy for the C caller. `size` may be null.
tandem_status* GiveText(std::string_view text, char** copy, size_t* size);

}  // namespace tandem::c

// Lives as long as anything refers to it; what it runs, only until it is destroyed.
struct tandem_runtime : public tandem::RefCounted<tandem_runtime> {
 public:
  // Null once destroyed.
  tandem::c::Running* running() const { return running_.load(); }
  void Start(std::unique_ptr<tandem::c::Running> running) { running_.store(running.release()); }
  // Once, and in no callback.
  void Stop();
  // Of a call; unknown for null.
  tandem::Location LocationOf(const char* text) {
    return text == nullptr ? tandem::Location() : locations_.Intern(text);
  }

 private:
  friend class tandem::RefCounted<tandem_runtime>;
  friend class tandem::c::CallbackScope;
  friend class tandem::c::Dependent;
  ~tandem_runtime() = default;

  std::atomic<tandem::c::Running*> running_{nullptr};
  std::atomic<uint32_t> num_callbacks_{0};
  tandem::LocationTexts locations_;
  std::mutex dependents_mutex_;
  tandem::c::Dependent* dependents_ = nullptr;
};

struct tandem_tensor {
  tandem_tensor() = default;
  tandem_tensor(tandem_runtime& of, tandem::TensorHandle tensor)
      : runtime(tandem::RcRef<tandem_runtime>::Share(&of)), handle(std::move(tensor)) {}
  ~tandem_tensor() { delete dense.load(); }

  tandem::RcRef<tandem_runtime> runtime;
  tandem::TensorHandle handle;
  // Made when the elements of a tensor that is not dense are asked for.
  mutable std::atomic<const tandem::Tensor*> dense{nullptr};
  // While a call takes it over: one more than its first place among the arguments.
  size_t taken_as = 0;
};

struct tandem_attrs {
  tandem::OpAttrs attrs;
  tandem::Status error;
};

struct tandem_chain {
  tandem::RcRef<tandem_runtime> runtime;
  tandem::AsyncValueRef<tandem::Chain> value;
};

struct tandem_request final : public tandem::c::Dependent {
  tandem_request(tandem_runtime& of, tandem::RcRef<tandem::RequestContext> request_context)
      : Dependent(of), request(std::move(request_context)) {}
  void LetGo() override { request.reset(); }
  tandem::RcRef<tandem::RequestContext> request;
};

struct tandem_op final : public tandem::c::Dependent {
  tandem_op(tandem_runtime& of, tandem::Op made) : Dependent(of), op(std::move(made)) {}
  void LetGo() override { op = tandem::Op(); }
  tandem::Op op;
};

struct tandem_program final : public tandem::c::Dependent {
  tandem_program(tandem_runtime& of, tandem::ProgramRunner made) : Dependent(of), runner(std::move(made)) {}
  void LetGo() override { runner.reset(); }
  std::optional<tandem::ProgramRunner> runner;
};

struct tandem_recording final : public tandem::c::Dependent {
  tandem_recording(tandem_runtime& of, tandem::RcRef<tandem::ProgramRecorder> started)
      : Dependent(of), recorder(std::move(started)) {}
  void LetGo() override { recorder.reset(); }
  tandem::RcRef<tandem::ProgramRecorder> recorder;
};

namespace tandem::c {

// Makes a program ready for `runtime`, with its ops on `device` unless that is null.
tandem_status* GiveProgram(tandem_runtime& runtime, RcRef<const Program> program, const char* device,
                           ProgramRunner::Options options, tandem_program** given);
// The tensors that a recording is to give; `outputs` has room for them.
Status CheckOutputs(const tandem_recording& recording, tandem_tensor* const* from, std::span<TensorHandle> outputs);
// A tensor as a weight of that name for a program of `runtime`, or what is wrong with it, such as that it is null.
StatusOr<TensorHandle> WeightOf(const tandem_runtime& runtime, std::string_view name, const tandem_tensor* tensor);

// What runs behind an object, or why nothing does: `what` names the argument.
template <typename Object>
StatusOr<Running*> FindRuntime(const Object* object, std::string_view what) {
  if (object == nullptr) return InvalidArgument("expected a ", what, ", got null");
  Running* running;
  if constexpr (std::is_same_v<Object, tandem_runtime>) {
    running = object->running();
  } else if constexpr (std::is_base_of_v<Dependent, Object>) {
    running = object->runtime().running();
  } else {
    running = object->runtime->running();
  }
  if (running == nullptr) return FailedPrecondition("the runtime of this ", what, " has been destroyed");
  return running;
}

}  // namespace tandem::c

// `TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor")`: declares rt, an Running*, or returns the error to the C caller.
#define TANDEM_C_FIND_RUNTIME(name, object, what)                               \
  const auto name##_or_error = ::tandem::c::FindRuntime(object, what);          \
  if (!name##_or_error.ok()) return ::tandem::c::ToC(name##_or_error.status()); \
  ::tandem::c::Running* const name = *name##_or_error

// Returns the error, if it is one, to the C caller.
#define TANDEM_C_RETURN_IF_ERROR(expr)                                                               \
  do {                                                                                               \
    if (const ::tandem::Status c_status = (expr); !c_status.ok()) return ::tandem::c::ToC(c_status); \
  } while (false)

#endif  // TANDEM_BINDINGS_C_OBJECTS_H_
