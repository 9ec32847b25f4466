// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PipelineThreads: shaders to pipelines, on threads of their own.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_PIPELINE_THREADS_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_PIPELINE_THREADS_H_

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "native_thread.h"
#include "tandem/async_value.h"
#include "tandem/gpu/linked_queue.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

// Thread-safe.
class PipelineThreads {
 public:
  using Compile = std::function<StatusOr<RcRef<Pipeline>>(const ShaderText&)>;

  // `compile` and `on_rest`, which is called when nothing is left to compile for the time being, must be thread-safe.
  PipelineThreads(Compile compile, std::function<void()> on_rest);
  // Stops, if that was not done.
  ~PipelineThreads();

  // On the calling thread, if the system gives no other.
  AsyncValueRef<RcRef<Pipeline>> Make(ShaderText text);
  // Ends the threads: pipelines that are not begun become Cancelled errors, as do all that are asked for from now on.
  void Stop();

 private:
  struct Job {
    ShaderText text;
    Producer<RcRef<Pipeline>> result;
    std::unique_ptr<Job> next;
  };

  void Work();
  void Run(Job& job);

  const Compile compile_;
  const std::function<void()> on_rest_;

  std::mutex mutex_;
  std::condition_variable wake_;
  gpu::LinkedQueue<Job> jobs_;
  size_t num_jobs_ = 0;
  std::array<NativeThread, 8> threads_;
  size_t num_threads_ = 0;
  size_t num_idle_ = 0;
  bool stopping_ = false;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_PIPELINE_THREADS_H_
