// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_graphs.h"

#include <algorithm>

#include "library_pipelines.h"

namespace tandem::cuda {

namespace {

// Of the kernels alone: what a graph cannot be updated in.
uint64_t KeyOf(const CudaStretch& stretch) {
  uint64_t key = stretch.size();
  for (const CudaLaunch& launch : stretch) key = HashWith(key, reinterpret_cast<uintptr_t>(launch.pipeline.get()));
  return key;
}

}  // namespace

bool CudaLaunch::IsSame(const CudaLaunch& other) const {
  return pipeline.get() == other.pipeline.get() && num_buffers == other.num_buffers && num_words == other.num_words &&
         bytes == other.bytes && workgroups == other.workgroups &&
         std::equal(buffers.begin(), buffers.begin() + num_buffers, other.buffers.begin()) &&
         std::equal(words.begin(), words.begin() + num_words, other.words.begin());
}

CudaGraphs::~CudaGraphs() { ForgetCaptured(); }

// One that runs is freed when it is done.
void CudaGraphs::Destroy(Known& known) const {
  if (known.exec != nullptr) functions_.GraphExecDestroy(known.exec);
  known.exec = nullptr;
}

void CudaGraphs::ForgetCaptured() {
  for (auto& [key, known] : known_) Destroy(known);
}

void CudaGraphs::GiveUp(Known& known) const {
  Destroy(known);
  known.is_given_up = true;
}

CudaGraphs::Failed CudaGraphs::IssueEach(const CudaStretch& stretch) const {
  Failed first;
  for (const CudaLaunch& launch : stretch) {
    Failed failed;
    if (launch.pipeline) {
      failed.status = static_cast<const CudaCommand&>(*launch.pipeline)
                          .Issue(stream_, {launch.buffers.data(), launch.num_buffers},
                                 {launch.words.data(), launch.num_words}, launch.workgroups, failed.failure);
    } else {
      failed.failure = {
          driver_.MemcpyDtoDAsync(launch.buffers[1], launch.buffers[0], static_cast<size_t>(launch.bytes), stream_),
          "cuMemcpyDtoDAsync"};
    }
    failed.op = launch.op;
    if (first.ok() && !failed.ok()) first = failed;
  }
  return first;
}

GraphHandle CudaGraphs::Capture(const CudaStretch& stretch) const {
  if (functions_.StreamBeginCapture(stream_, kCaptureRelaxed) != kDriverSuccess) return nullptr;
  const bool is_issued = IssueEach(stretch).ok();
  GraphHandle graph = nullptr;
  const bool is_captured = functions_.StreamEndCapture(stream_, &graph) == kDriverSuccess && is_issued;
  if (is_captured || graph == nullptr) return graph;
  functions_.GraphDestroy(graph);
  return nullptr;
}

bool CudaGraphs::Renew(Known& known, const CudaStretch& stretch) const {
  const GraphHandle graph = Capture(stretch);
  if (graph == nullptr) return false;
  GraphUpdateInfo info = {};
  bool is_new = known.exec != nullptr && functions_.GraphExecUpdate(known.exec, graph, &info) == kDriverSuccess;
  if (!is_new) {
    Destroy(known);
    is_new = functions_.GraphInstantiate(&known.exec, graph, 0) == kDriverSuccess;
  }
  functions_.GraphDestroy(graph);
  return is_new;
}

CudaGraphs::Failed CudaGraphs::Issue(CudaStretch& stretch) {
  if (stretch.size() < kLeastCommands) return IssueEach(stretch);
  const uint64_t key = KeyOf(stretch);
  auto found = known_.find(key);
  if (found == known_.end()) {
    const Failed failed = IssueEach(stretch);
    if (known_.size() < kMostKnown) std::swap(known_[key].last, stretch);
    return failed;
  }
  Known& known = found->second;
  if (known.is_given_up) return IssueEach(stretch);
  const bool is_same =
      known.exec != nullptr && std::equal(known.last.begin(), known.last.end(), stretch.begin(), stretch.end(),
                                          [](const CudaLaunch& a, const CudaLaunch& b) { return a.IsSame(b); });
  if (is_same) {
    known.num_changed = 0;
  } else if (++known.num_changed > kMostChanges || !Renew(known, stretch)) {
    GiveUp(known);
    return IssueEach(stretch);
  } else {
    std::swap(known.last, stretch);
  }
  const Failed failed = {Status(), {functions_.GraphLaunch(known.exec, stream_), "cuGraphLaunch"}, known.last[0].op};
  return failed;
}

}  // namespace tandem::cuda
