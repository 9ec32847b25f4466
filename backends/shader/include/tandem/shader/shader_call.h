// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShaderCall: one call of a kernel that runs shaders: its buffers, its launches, and its end.

#ifndef TANDEM_SHADER_SHADER_CALL_H_
#define TANDEM_SHADER_SHADER_CALL_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "tandem/export.h"
#include "tandem/growing_array.h"
#include "tandem/kernel.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_device.h"
#include "tandem/small_array.h"

namespace tandem::shader {

// A kernel of a shader family looks like this:
//
//   Status SoftmaxKernel(KernelFrame& frame) {
//     ShaderCall call(frame);
//     call.Run(SoftmaxProgram(frame.arg(0).metadata(), call.limits()), {call.Argument(0), call.Result(0)});
//     return call.Finish();
//   }
//
// Errors on the way (memory, limits) are kept, the rest of the call does nothing, and Finish returns them. Used by one
// thread. The launches are issued by Finish, or once their pipelines are ready, for which the results then wait. Where
// arguments are stand-ins (KernelRehearsal) buffers are, too, and the pipelines are asked for, but nothing is issued.
class TANDEM_EXPORT ShaderCall {
 public:
  // Launches that were put off are issued first: then nobody but the caller holds arguments.
  explicit ShaderCall(KernelFrame& frame);
  // The same without that, for a call that may be put off itself; if it is not to be, IssueLate does it.
  struct MayBeLate {};
  ShaderCall(KernelFrame& frame, MayBeLate);
  void IssueLate();
  ShaderCall(const ShaderCall&) = delete;
  ShaderCall& operator=(const ShaderCall&) = delete;

  ShaderDevice& device() const { return device_; }
  const GpuLimits& limits() const { return device_.limits(); }

  // The argument's buffer, which must be on this device.
  GpuBuffer* Argument(size_t i);
  // The buffer of result `i`, allocated by its metadata; to be written completely.
  GpuBuffer* Result(size_t i);
  // The same, but that of one of the arguments `candidates` where it may be taken over (TH-5): then both are the same
  // buffer, which must be bound once, for reading and writing.
  GpuBuffer* ForwardOrAllocate(size_t i, std::initializer_list<size_t> candidates);
  // Whether ForwardOrAllocate would take that of `arg`.
  bool MayTakeOver(size_t arg, size_t i) const;
  // Result `i` is argument `arg` with the result's shape: the buffer is shared, nothing is copied.
  void Share(size_t i, size_t arg);
  // Whether result `i`, which is what argument `arg` has from the byte `offset` on, may be a part of its buffer; then
  // SharePart makes it one, and nothing is copied. Not if it is so small that it would keep much other memory.
  bool MaySharePart(size_t i, size_t arg, uint64_t offset);
  void SharePart(size_t i, size_t arg, uint64_t offset);
  // A buffer for the call alone.
  GpuBuffer* Temporary(uint64_t bytes);
  // A buffer with these words, for tables that are too large for parameters.
  GpuBuffer* Table(std::span<const uint32_t> words);
  // Copies between two buffers.
  void Copy(GpuBuffer* from, uint64_t from_offset, GpuBuffer* to, uint64_t to_offset, uint64_t bytes);

  // Adds a launch; `buffers` in the shader's order, those that it writes behind all that it only reads. An empty launch
  // is left out. Fails where the launch exceeds the limits.
  void Run(const Launch& launch, std::initializer_list<GpuBuffer*> buffers) {
    Run(launch, std::span(buffers.begin(), buffers.size()));
  }
  void Run(const Launch& launch, std::span<GpuBuffer* const> buffers);

  // The same with a pipeline that FindProduct or FindConvolution of the queue gave; the last buffer is written.
  void RunLibrary(AsyncValueRef<RcRef<Pipeline>> pipeline, std::span<GpuBuffer* const> buffers);

  // Makes the call fail.
  void Fail(Status error);
  bool ok() const { return status_.ok(); }

  // Issues the launches and sets the results. Called once, at the end.
  Status Finish();

  // The same for ops without a metadata function, whose results have sizes that the launches find out: dimension `axis`
  // of each (-1: of none) is the number that they leave in the first word of `count`. The host hears of it later, and
  // nobody waits for that: the results, metadata and all, are pending until then. Buffers are temporaries or arguments,
  // of the given metadata, which is what the results have at most; those that need much less are copied to buffers of
  // their own.
  struct Counted {
    GpuBuffer* buffer;
    TensorMetadata metadata;
    int axis;
  };
  Status FinishCounted(GpuBuffer* count, std::span<const Counted> results);

  // Of a shader.
  static constexpr size_t kMaxBuffers = 10;

  struct Step {
    Launch launch;
    AsyncValueRef<RcRef<Pipeline>> pipeline;  // null: a copy, whose offsets and size are in `copy`
    std::array<uint64_t, 3> copy = {};
    std::array<GpuBuffer*, kMaxBuffers> buffers;
    size_t num_buffers = 0;
    size_t num_written = 0;  // the last ones: those that the shader writes
  };
  // What Finish would issue, if that is one launch and could be done at once; otherwise null.
  const Step* OnlyLaunch() const { return ok() && is_ready_ && !is_rehearsal_ && num_steps_ == 1 ? &first_ : nullptr; }
  // Somebody else issues that one.
  void LeaveLaunch() { num_steps_ = 0; }
  const CommandOrigin& origin() const { return origin_; }

 private:
  class Deferred;
  class CountedResults;

  StatusOr<RcRef<GpuBuffer>> Allocate(uint64_t bytes) const;
  GpuBuffer* Keep(RcRef<GpuBuffer>& place, StatusOr<RcRef<GpuBuffer>> buffer);
  Status Check(const Step& step) const;
  // Null, and the call fails, if memory is exhausted.
  Step* AddStep();
  Tensor MakeResult(size_t i);
  Status IssueSteps();
  Status Defer();
  // With the steps and what they need; null if memory is exhausted.
  std::unique_ptr<Deferred> MakeDeferred(size_t num_results);
  Status Start(std::unique_ptr<Deferred> deferred);

  KernelFrame& frame_;
  ShaderDevice& device_;
  const CommandOrigin origin_;
  Status status_;
  const bool is_rehearsal_;
  bool is_ready_ = true;  // all pipelines are
  size_t num_steps_ = 0;
  Step first_;
  GrowingArray<Step> more_;
  SmallArray<RcRef<GpuBuffer>, 4> results_;
  GrowingArray<RcRef<GpuBuffer>> temporaries_;
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_SHADER_CALL_H_
