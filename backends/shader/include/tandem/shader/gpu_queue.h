// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuQueue: what a GPU's interface (Vulkan, WebGPU) must offer: buffers, pipelines and a stream of commands.

#ifndef TANDEM_SHADER_GPU_QUEUE_H_
#define TANDEM_SHADER_GPU_QUEUE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// What a device grants, as far as programs depend on it. The defaults are what WebGPU guarantees.
struct GpuLimits {
  uint32_t max_storage_buffers = 8;                // of one shader; the buffer of parameters comes on top
  uint64_t max_binding_bytes = uint64_t{1} << 27;  // of one buffer in a shader
  uint64_t max_buffer_bytes = uint64_t{1} << 28;
  uint32_t max_workgroups = 65535;  // per dimension of a dispatch
  uint32_t max_invocations = 256;   // of a workgroup; also in its x and y
  uint32_t max_workgroup_z = 64;
  uint32_t max_workgroup_bytes = 16384;  // of shared memory
  bool has_f16 = false;                  // f16 in shaders and in buffers
  bool has_subgroups = false;            // subgroupAdd and the like
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
  // Shaders run on the host's processor, where barriers cost much and few invocations with much work each are best.
  bool is_software = false;
};

// A buffer of a queue; never 0.
using BufferId = uint64_t;

enum class BufferAccess : uint8_t { kRead, kReadWrite };

// The most words of parameters a shader may take.
inline constexpr size_t kMaxParameters = 48;

// A shader, complete: one entry point `main`, its storage buffers at @group(0) and the bindings 0, 1, ... and, if it
// has parameters, behind them one uniform struct of `num_parameters` scalars of 32 bits.
struct ShaderText {
  std::string name;  // for messages and traces
  std::string wgsl;  // in the part of WGSL that kernels/README.md describes
  std::vector<BufferAccess> buffers;
  uint32_t num_parameters = 0;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
};

// A shader made ready by a queue. Thread-safe. Must be dropped before its queue is destroyed.
class TANDEM_EXPORT Pipeline : public RefCounted<Pipeline> {
 public:
  virtual ~Pipeline() = default;

 private:
  friend class RefCounted<Pipeline>;
  void Destroy() { delete this; }
};

// Whose command it is, for errors that a device reports later. `op` lives as long as the op registry.
struct CommandOrigin {
  std::string_view op;
  Location location;
};

// What a queue tells of failures that no call of it can return, from any thread and without a lock of its own held.
class GpuListener {
 public:
  // Commands of the batches `first` to `last` have not, or not all, been executed; what they were to write is unusable.
  virtual void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) = 0;
  // The device is gone for good, and with it the content of all buffers. Every call fails from now on.
  virtual void OnDeviceLost(const Status& error) = 0;

 protected:
  ~GpuListener() = default;
};

// Commands are executed as if one after the other, in the order of the calls that issued them; `Upload`, `Dispatch` and
// `Copy` only note them, and a batch of them is handed to the device by Flush, at a size that the queue chooses, or at
// the end of the task where there is an event loop. All methods may be called from any thread. The destructor waits for
// the device, and calls what is left of the downloads with Cancelled.
//
// Errors of every method: Unavailable once the device is lost; ResourceExhausted for lack of memory.
class TANDEM_EXPORT GpuQueue {
 public:
  // Ok, or the error of a download.
  using Done = std::function<void(const Status&)>;

  virtual ~GpuQueue() = default;

  // "llvmpipe (LLVM 15.0.6, 256 bits)", for messages.
  virtual std::string_view adapter_name() const = 0;
  virtual const GpuLimits& limits() const = 0;
  // Before any other call; `listener` outlives the queue.
  virtual void SetListener(GpuListener& listener) = 0;

  // A buffer for use by shaders and copies, its content arbitrary; `bytes` is a multiple of 4, above 0 and at most
  // limits().max_buffer_bytes. Where creation is asynchronous the error is one of the batches that use the buffer.
  virtual StatusOr<BufferId> CreateBuffer(uint64_t bytes, const CommandOrigin& origin) = 0;
  // Commands issued before may still use it.
  virtual void DestroyBuffer(BufferId buffer) = 0;

  // Compiles a shader, maybe on another thread or in the browser; the value is an error if that fails, with the
  // compiler's own words. Callers keep what they get: the queue need not remember it.
  virtual AsyncValueRef<RcRef<Pipeline>> CreatePipeline(ShaderText text) = 0;

  // Runs a pipeline: `buffers` and `parameters` as its ShaderText has them, no buffer more than once unless it is only
  // read, no more workgroups than the limits allow, none of the three 0. Gives the batch that the command is in.
  virtual StatusOr<uint64_t> Dispatch(const Pipeline& pipeline, std::span<const BufferId> buffers,
                                      std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                                      const CommandOrigin& origin) = 0;
  // Writes `bytes` of `data` to the start of a buffer; the last word is filled up with anything. `owner`, if not null,
  // keeps `data` alive and unchanged as long as it is referred to; otherwise the data is copied before this returns.
  virtual StatusOr<uint64_t> Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                                    const CommandOrigin& origin) = 0;
  // Copies within the device; offsets and `bytes` are multiples of 4, and the buffers are two.
  virtual StatusOr<uint64_t> Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset, uint64_t bytes,
                                  const CommandOrigin& origin) = 0;
  // Reads the first `bytes` of a buffer to `to`, which must live until `done` is called: once, on any thread, after all
  // failures of commands issued before have been told to the listener. Flushes.
  virtual void Download(BufferId from, void* to, uint64_t bytes, Done done) = 0;

  // Hands over what was issued. Does not wait.
  virtual void Flush() = 0;

  // What was handed over so far.
  struct Counters {
    uint64_t submits = 0;  // batches handed to the device
    uint64_t dispatches = 0;
    uint64_t crossings = 0;  // calls out of WebAssembly to bring about the above; 0 natively
  };
  virtual Counters counters() const = 0;
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_GPU_QUEUE_H_
