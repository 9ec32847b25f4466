// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NullStream: a device without a GPU and without kernels of its own, all that backends/gpu needs: memory of the host,
// and commands that are done when they are flushed, by the caller or by a thread of the device's.

#ifndef TANDEM_TESTS_UNIT_GPU_NULL_STREAM_H_
#define TANDEM_TESTS_UNIT_GPU_NULL_STREAM_H_

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/gpu/gpu_op_handler.h"
#include "tandem/gpu/stream.h"

namespace tandem::gpu {

class NullStream final : public Stream {
 public:
  // Kernels of its handlers take it as a NullStream&.
  static constexpr KernelContext kKernelContext = {"a null stream"};

  // What a test sets and sees.
  struct Controls {
    StreamLimits limits = {.max_buffer_bytes = 1 << 20, .offset_alignment = 16};
    bool has_thread = false;  // downloads and ends are told by a thread, else before the call returns
    Status download_error;
    uint64_t num_copies = 0;  // commands of Copy
    StreamListener* listener = nullptr;
    std::map<BufferId, std::vector<std::byte>> buffers;
  };

  explicit NullStream(std::shared_ptr<Controls> controls) : controls_(std::move(controls)), c_(*controls_) {}
  ~NullStream() override {
    Flush();
    for (std::thread& thread : threads_) thread.join();
    c_.listener = nullptr;
  }

  std::string_view adapter_name() const override { return "nothing"; }
  const StreamLimits& limits() const override { return c_.limits; }
  void SetListener(StreamListener& listener) override { c_.listener = &listener; }

  StatusOr<BufferId> CreateBuffer(uint64_t bytes, const CommandOrigin&) override {
    const std::lock_guard lock(mutex_);
    c_.buffers[++last_id_].resize(static_cast<size_t>(bytes), std::byte{0xEE});
    return last_id_;
  }
  void DestroyBuffer(BufferId buffer) override {
    Issue([this, buffer] { c_.buffers.erase(buffer); });
  }
  StatusOr<uint64_t> Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                            const CommandOrigin&) override {
    const auto* first = static_cast<const std::byte*>(data);
    // With an owner the data is read as late as that allows.
    std::vector<std::byte> copy;
    if (!owner) copy.assign(first, first + bytes);
    return Issue([this, to, first, bytes, owner = std::move(owner), copy = std::move(copy)] {
      std::memcpy(c_.buffers.at(to).data(), owner ? first : copy.data(), static_cast<size_t>(bytes));
    });
  }
  StatusOr<uint64_t> Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset, uint64_t bytes,
                          const CommandOrigin&) override {
    ++c_.num_copies;
    return Issue([=, this] {
      std::memcpy(c_.buffers.at(to).data() + to_offset, c_.buffers.at(from).data() + from_offset,
                  static_cast<size_t>(bytes));
    });
  }
  void Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) override {
    Issue([=, this] { std::memcpy(to, c_.buffers.at(from).data() + offset, static_cast<size_t>(bytes)); });
    End(std::move(done));
  }
  void WhenDone(Done done) override { End(std::move(done)); }
  void Flush() override {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) return;
    for (const auto& command : std::exchange(commands_, {})) command();
    ++counters_.submits;
    ++batch_;
  }
  Counters counters() const override {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  // What a kernel of this device does: any function of the device's memory, in order with the other commands.
  uint64_t Issue(std::function<void()> command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
    return batch_;
  }
  template <typename T>
  T* At(const BufferRange& range) {
    return reinterpret_cast<T*>(c_.buffers.at(range.buffer).data() + range.offset);
  }

 private:
  void End(Done done) {
    Flush();
    if (!c_.has_thread) return done(c_.download_error);
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([done = std::move(done), error = c_.download_error] { done(error); });
  }

  const std::shared_ptr<Controls> controls_;
  Controls& c_;
  mutable std::mutex mutex_;
  BufferId last_id_ = 0;
  uint64_t batch_ = 1;
  Counters counters_;
  std::vector<std::function<void()>> commands_;
  std::vector<std::thread> threads_;
};

class NullHandler final : public GpuOpHandler {
 public:
  NullHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback,
              const std::shared_ptr<NullStream::Controls>& controls)
      : NullHandler(name, runtime, fallback, std::make_unique<NullStream>(controls)) {}

 private:
  NullHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, std::unique_ptr<NullStream> stream)
      : NullHandler(name, runtime, fallback, *stream, MakeRef<GpuMemory>(*stream, GpuMemory::Options()), stream) {}
  NullHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, NullStream& stream,
              RcRef<GpuMemory> memory, std::unique_ptr<NullStream>& owned)
      : GpuOpHandler(name, runtime, fallback,
                     std::make_unique<GpuDevice>(name, std::move(owned), std::move(memory), BoolLayout::kBytes)) {
    Provide(stream);
  }
};

}  // namespace tandem::gpu

#endif  // TANDEM_TESTS_UNIT_GPU_NULL_STREAM_H_
