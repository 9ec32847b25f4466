// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShaderQueue: a stream whose kernels are shaders in WGSL: what Vulkan and WebGPU must offer.

#ifndef TANDEM_SHADER_SHADER_QUEUE_H_
#define TANDEM_SHADER_SHADER_QUEUE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/gpu/stream.h"
#include "tandem/ref_counted.h"
#include "tandem/shader/library_convolution.h"
#include "tandem/shader/library_product.h"
#include "tandem/status.h"

namespace tandem::shader {

using gpu::BufferId;
using gpu::BufferRange;
using gpu::CommandOrigin;

// What a device grants, as far as programs depend on it. The defaults are what WebGPU guarantees.
struct GpuLimits : gpu::StreamLimits {
  uint32_t max_storage_buffers = 8;                // of one shader; the buffer of parameters comes on top
  uint64_t max_binding_bytes = uint64_t{1} << 27;  // of one buffer in a shader
  uint32_t max_workgroups = 65535;                 // per dimension of a dispatch
  uint32_t max_invocations = 256;                  // of a workgroup; also in its x and y
  uint32_t max_workgroup_z = 64;
  uint32_t max_workgroup_bytes = 16384;  // of shared memory
  bool has_f16 = false;                  // f16 in shaders and in buffers
  bool has_all_dtypes = false;           // f64, i64, u64, i16, u16, i8, u8, bf16 and c64, too, which WGSL has not
  bool has_subgroups = false;            // subgroupAdd and the like
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
  // Shaders run on the host's processor, where barriers cost much and few invocations with much work each are best.
  bool is_software = false;
};

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

class CallDelayer;

class TANDEM_EXPORT ShaderQueue : public gpu::Stream {
 public:
  const GpuLimits& limits() const override = 0;

  // Compiles a shader, maybe on another thread or in the browser; the value is an error if that fails, with the
  // compiler's own words. Callers keep what they get: the queue need not remember it.
  virtual AsyncValueRef<RcRef<Pipeline>> CreatePipeline(ShaderText text) = 0;

  // Runs a pipeline: `buffers` and `parameters` as its ShaderText has them, no buffer more than once unless it is only
  // read, no more workgroups than the limits allow, none of the three 0. Gives the batch that the command is in.
  virtual StatusOr<uint64_t> Dispatch(const Pipeline& pipeline, std::span<const BufferRange> buffers,
                                      std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                                      const CommandOrigin& origin) = 0;

  // A product that a library of the device computes, to be dispatched with the buffers a, b, the bias if there is one,
  // and c, of which the last is written, without parameters, in one workgroup. Null: no library does.
  virtual AsyncValueRef<RcRef<Pipeline>> FindProduct(const LibraryProduct&) { return {}; }

  // The same for convolutions, with the buffers that LibraryConvolution tells.
  virtual AsyncValueRef<RcRef<Pipeline>> FindConvolution(const LibraryConvolution&) { return {}; }

  // Has Flush called at the end of the task, by whoever may, where there is an event loop; nothing elsewhere. For
  // commands that are put off.
  virtual void RequestFlush() {}

  // What element-wise kernels leave their commands to; null if they issue them.
  virtual CallDelayer* call_delayer() { return nullptr; }
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_SHADER_QUEUE_H_
