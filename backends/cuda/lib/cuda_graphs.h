// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaGraphs: stretches of commands that come again and again, launched as one graph each.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_GRAPHS_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_GRAPHS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cuda_pipeline.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::cuda {

// A command that is put off.
struct CudaLaunch {
  RcRef<const shader::Pipeline> pipeline;  // null: a copy, of `bytes` from the first buffer to the second
  std::array<DevicePointer, shader::ShaderCall::kMaxBuffers> buffers = {};
  uint32_t num_buffers = 0;
  uint32_t num_words = 0;
  std::array<uint32_t, shader::kMaxParameters> words = {};
  std::array<uint32_t, 3> workgroups = {};
  uint64_t bytes = 0;
  std::string_view op;

  bool IsSame(const CudaLaunch& other) const;
};

using CudaStretch = GrowingArray<CudaLaunch>;

// A stretch that comes for the second time, with the same kernels, addresses, sizes and parameters, is captured; from
// then on it is one launch. Loops come back to the same addresses, since freed buffers are handed out again in the same
// order; what is new each time, or cannot be captured, is issued command by command. Not thread-safe; the context is
// the calling thread's.
class CudaGraphs {
 public:
  // Shorter stretches gain nothing.
  static constexpr size_t kLeastCommands = 3;
  // At which a stretch ends.
  static constexpr size_t kMostCommands = 64;
  // Larger copies are issued as they are: in a graph they reach two thirds of the bandwidth (on an H200).
  static constexpr uint64_t kMostCopiedBytes = uint64_t{1} << 20;

  CudaGraphs(const DriverFunctions& driver, const GraphFunctions& functions, StreamHandle stream)
      : driver_(driver), functions_(functions), stream_(stream) {}
  // What they launch is done.
  ~CudaGraphs();
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;

  struct Failed {
    Status status;          // of a library
    DriverFailure failure;  // of the driver
    std::string_view op;
    bool ok() const { return status.ok() && failure.ok(); }
  };
  // Issues the commands, and leaves what is to be destroyed in place of them: not with a lock held that pipelines take.
  // A failure is the first one's; the others are issued as well.
  Failed Issue(CudaStretch& stretch);
  // Memory that commands use beside their buffers, such as a workspace, is elsewhere from now on: what was captured
  // with it is captured again before it is launched.
  void ForgetCaptured();

 private:
  struct Known {
    CudaStretch commands;
    GraphExecHandle exec = nullptr;  // null: it has come once, or is given up
    uint64_t last_use = 0;
    bool is_given_up = false;
  };
  static constexpr size_t kMostKnown = 256;

  Failed IssueEach(const CudaStretch& stretch) const;
  // Null if that cannot be.
  GraphHandle Capture(const CudaStretch& stretch) const;
  // Whether there is an executable graph now.
  bool Make(Known& known) const;
  // For when it comes again, in place of the one that has not come for the longest time if there are too many.
  void Keep(uint64_t key, CudaStretch& stretch);
  void Destroy(Known& known) const;

  const DriverFunctions& driver_;
  const GraphFunctions functions_;
  const StreamHandle stream_;
  std::unordered_map<uint64_t, Known> known_;
  uint64_t num_uses_ = 0;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_GRAPHS_H_
