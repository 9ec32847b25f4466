// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FakeShaderQueue: a GPU made of vectors, whose shaders are C++ functions and whose failures a test brings about.

#ifndef TANDEM_TESTS_UNIT_SHADER_FAKE_SHADER_QUEUE_H_
#define TANDEM_TESTS_UNIT_SHADER_FAKE_SHADER_QUEUE_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

using Words = std::vector<uint32_t>;
// What a shader does: its buffers, its parameters, its workgroups.
using FakeShader =
    std::function<void(std::span<Words* const>, std::span<const uint32_t>, const std::array<uint32_t, 3>&)>;

class FakePipeline final : public Pipeline {
 public:
  FakePipeline(ShaderText text, FakeShader run) : text(std::move(text)), run(std::move(run)) {}
  const ShaderText text;
  const FakeShader run;
};

// Commands run when they are flushed; each flush is a batch. For one thread.
class FakeShaderQueue final : public ShaderQueue {
 public:
  // What a test sets and sees; outlives the queue.
  struct Controls {
    GpuLimits limits;
    std::map<std::string, FakeShader> shaders;  // by name; others do not compile
    bool holds_pipelines = false;               // until ReleasePipelines
    uint64_t capacity = UINT64_MAX;             // bytes of buffers, beyond which there are no more
    Status upload_error;
    std::map<std::string, Status> dispatch_errors;  // by shader

    std::map<BufferId, Words> buffers;
    uint64_t bytes = 0;
    std::vector<std::string> compiled;
    std::function<void(const ShaderText&)> on_compile;  // if it is set
    std::vector<LibraryProduct> products;               // that a library was asked for; there is none
    std::vector<std::function<void()>> held;
    uint64_t uploads = 0;
    uint64_t downloads = 0;
    uint64_t flush_requests = 0;
    Counters counters;
    gpu::StreamListener* listener = nullptr;
    uint64_t batch = 1;

    void ReleasePipelines() {
      for (const auto& release : std::exchange(held, {})) release();
    }
  };

  explicit FakeShaderQueue(Controls& controls) : c_(controls) {}
  ~FakeShaderQueue() override {
    Flush();
    c_.ReleasePipelines();
    c_.listener = nullptr;
  }

  std::string_view adapter_name() const override { return "fake"; }
  const GpuLimits& limits() const override { return c_.limits; }
  void SetListener(gpu::StreamListener& listener) override { c_.listener = &listener; }

  void RequestFlush() override { ++c_.flush_requests; }

  StatusOr<BufferId> CreateBuffer(uint64_t bytes, const CommandOrigin&) override {
    EXPECT_EQ(bytes % 4, 0u);
    EXPECT_GT(bytes, 0u);
    if (bytes > c_.capacity - c_.bytes) return ResourceExhausted("the fake is full");
    c_.bytes += bytes;
    c_.buffers[++last_id_].resize(bytes / 4, 0xDEADBEEF);
    return last_id_;
  }
  void DestroyBuffer(BufferId buffer) override {
    commands_.push_back([this, buffer] { EXPECT_EQ(c_.buffers.erase(buffer), 1u); });
    c_.bytes -= c_.buffers.at(buffer).size() * 4;
  }

  AsyncValueRef<RcRef<Pipeline>> CreatePipeline(ShaderText text) override {
    c_.compiled.push_back(text.name);
    if (c_.on_compile) c_.on_compile(text);
    const auto found = c_.shaders.find(text.name);
    if (found == c_.shaders.end()) {
      return AsyncValueRef<RcRef<Pipeline>>::MakeError(
          InvalidArgument("shader ", std::string_view(text.name), " must compile, got: no such thing"));
    }
    RcRef<Pipeline> pipeline = MakeRef<FakePipeline>(std::move(text), found->second);
    if (!c_.holds_pipelines) return AsyncValueRef<RcRef<Pipeline>>::MakeAvailable(std::move(pipeline));
    auto value = MakeUnconstructed<RcRef<Pipeline>>();
    c_.held.push_back([value, pipeline] { value->Emplace(pipeline); });
    return AsyncValueRef<RcRef<Pipeline>>(RcRef<AsyncValue>(std::move(value)));
  }

  AsyncValueRef<RcRef<Pipeline>> FindProduct(const LibraryProduct& product) override {
    c_.products.push_back(product);
    return {};
  }
  StatusOr<uint64_t> Dispatch(const Pipeline& pipeline, std::span<const BufferRange> buffers,
                              std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                              const CommandOrigin&) override {
    const auto& fake = static_cast<const FakePipeline&>(pipeline);
    EXPECT_EQ(buffers.size(), fake.text.buffers.size());
    EXPECT_EQ(parameters.size(), fake.text.num_parameters);
    if (const auto error = c_.dispatch_errors.find(fake.text.name); error != c_.dispatch_errors.end()) {
      return error->second;
    }
    ++c_.counters.dispatches;
    commands_.push_back([this, run = fake.run, ranges = std::vector(buffers.begin(), buffers.end()),
                         words = Words(parameters.begin(), parameters.end()), workgroups] {
      std::vector<Words*> memory;
      std::list<Words> parts;  // only read
      for (const BufferRange& range : ranges) {
        Words& whole = c_.buffers.at(range.buffer);
        EXPECT_EQ(range.offset % c_.limits.offset_alignment, 0u);
        EXPECT_LE(range.offset + range.size, whole.size() * 4);
        const auto first = whole.begin() + static_cast<ptrdiff_t>(range.offset / 4);
        const auto last = range.size == 0 ? whole.end() : first + static_cast<ptrdiff_t>(range.size / 4);
        memory.push_back(first == whole.begin() && last == whole.end() ? &whole : &parts.emplace_back(first, last));
      }
      run(memory, words, workgroups);
    });
    return c_.batch;
  }
  StatusOr<uint64_t> Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                            const CommandOrigin&) override {
    if (!c_.upload_error.ok()) return c_.upload_error;
    ++c_.uploads;
    // With an owner the data is read as late as that allows.
    std::vector<unsigned char> copy;
    if (!owner) copy.assign(static_cast<const unsigned char*>(data), static_cast<const unsigned char*>(data) + bytes);
    commands_.push_back([this, to, data, bytes, owner = std::move(owner), copy = std::move(copy)] {
      std::memcpy(c_.buffers.at(to).data(), owner ? data : copy.data(), bytes);
    });
    return c_.batch;
  }
  StatusOr<uint64_t> Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset, uint64_t bytes,
                          const CommandOrigin&) override {
    EXPECT_EQ((from_offset | to_offset | bytes) % 4, 0u);
    EXPECT_NE(from, to);
    commands_.push_back([=, this] {
      std::memcpy(reinterpret_cast<char*>(c_.buffers.at(to).data()) + to_offset,
                  reinterpret_cast<const char*>(c_.buffers.at(from).data()) + from_offset, bytes);
    });
    return c_.batch;
  }
  void Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) override {
    ++c_.downloads;
    Flush();
    std::memcpy(to, reinterpret_cast<const char*>(c_.buffers.at(from).data()) + offset, bytes);
    done(Status());
  }
  void WhenDone(Done done) override {
    Flush();
    done(Status());
  }
  void Flush() override {
    if (commands_.empty()) return;
    for (const auto& command : std::exchange(commands_, {})) command();
    ++c_.counters.submits;
    ++c_.batch;
  }
  Counters counters() const override { return c_.counters; }

 private:
  Controls& c_;
  BufferId last_id_ = 0;
  std::vector<std::function<void()>> commands_;
};

}  // namespace tandem::shader

#endif  // TANDEM_TESTS_UNIT_SHADER_FAKE_SHADER_QUEUE_H_
