// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EagerFuser: lets element-wise calls on GPUs, issued one by one, become one shader (PR-6).

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_EAGER_FUSER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_EAGER_FUSER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "kernels/elementwise/late_calls.h"

namespace tandem::shader {

// A queue in front of a device's own. Element-wise calls are checked, get memory and end as ever: their results are
// concrete, and errors are those of the call. Only their commands are put off, up to the next command of another kind,
// the end of a batch, or a call that does not go with them. Then they are noted in the device's queue, as few commands
// as possible (LateCalls), before that command, so that nobody sees that they were late. What cannot be noted, for lack
// of memory, makes the results fail, and the command before which it was to be noted, too.
//
// Memory of arguments that are dropped is given back when the call has been noted, and that of a result that is dropped
// before it was written with the next element-wise call. Where memory is wanted (GpuMemory), calls are noted first.
//
// Thread-safe. Its lock is taken where that of GpuMemory is held, so no buffer is let go of under it.
class EagerFuser final : public ShaderQueue, private CallDelayer {
 public:
  // `queue` is that of `device`, which this is put in front of; `fuser` outlives it.
  EagerFuser(ShaderQueue& queue, ShaderDevice& device, const ShaderFuser& fuser)
      : queue_(queue), late_(queue, device, fuser) {}
  ~EagerFuser() override;

  CallDelayer* call_delayer() override { return this; }
  bool IssueLate() override;

  std::string_view adapter_name() const override { return queue_.adapter_name(); }
  const GpuLimits& limits() const override { return queue_.limits(); }
  // The queue has its own.
  void SetListener(gpu::StreamListener& listener) override { listener_ = &listener; }
  StatusOr<BufferId> CreateBuffer(uint64_t bytes, const CommandOrigin& origin) override;
  void DestroyBuffer(BufferId buffer) override;
  AsyncValueRef<RcRef<Pipeline>> CreatePipeline(ShaderText text) override;
  StatusOr<uint64_t> Dispatch(const Pipeline& pipeline, std::span<const BufferRange> buffers,
                              std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                              const CommandOrigin& origin) override;
  StatusOr<uint64_t> Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                            const CommandOrigin& origin) override;
  StatusOr<uint64_t> Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset, uint64_t bytes,
                          const CommandOrigin& origin) override;
  void Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) override;
  void WhenDone(Done done) override;
  void Flush() override;
  void RequestFlush() override { queue_.RequestFlush(); }
  Counters counters() const override { return queue_.counters(); }
  AsyncValueRef<RcRef<Pipeline>> FindProduct(const LibraryProduct& product) override {
    return queue_.FindProduct(product);
  }
  AsyncValueRef<RcRef<Pipeline>> FindConvolution(const LibraryConvolution& op) override {
    return queue_.FindConvolution(op);
  }

 private:
  void DropUnheld() override;
  void PutOff(ShaderCall& call, const EagerCall& late) override;

  // Whoever has issued a call, or got its result, knows that there is one.
  bool IsEmpty() const { return num_late_.load(std::memory_order_acquire) == 0; }
  // Whether the call, which would be issued as `step`, is among those that are put off. An error if calls before it
  // cannot be noted.
  StatusOr<bool> Add(const EagerCall& call, const ShaderCall::Step& step, const CommandOrigin& origin);
  void NoteLocked(LateCalls::Outcome& outcome);
  // Notes all calls.
  Status Note();
  Status Tell(const LateCalls::Outcome& outcome) const;

  ShaderQueue& queue_;
  gpu::StreamListener* listener_ = nullptr;
  std::atomic<size_t> num_late_{0};
  std::mutex mutex_;
  LateCalls late_;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_EAGER_FUSER_H_
