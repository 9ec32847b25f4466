// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_graphs.h"

#include <algorithm>

#include "library_pipelines.h"

namespace tandem::cuda {

namespace {

uint64_t KeyOf(const CudaStretch& stretch) {
  uint64_t key = stretch.size();
  for (const CudaLaunch& launch : stretch) {
    key = HashWith(key, reinterpret_cast<uintptr_t>(launch.pipeline.get()));
    for (uint32_t i = 0; i < launch.num_buffers; ++i) key = HashWith(key, launch.buffers[i]);
    for (uint32_t i = 0; i < launch.num_words; ++i) key = HashWith(key, launch.words[i]);
  }
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

bool CudaGraphs::Make(Known& known) const {
  const GraphHandle graph = Capture(known.commands);
  if (graph == nullptr) return false;
  const bool is_made = functions_.GraphInstantiate(&known.exec, graph, 0) == kDriverSuccess;
  functions_.GraphDestroy(graph);
  return is_made;
}

void CudaGraphs::Keep(uint64_t key, CudaStretch& stretch) {
  // One of the same key is another stretch all the same.
  auto place = known_.find(key);
  if (place == known_.end() && known_.size() >= kMostKnown) {
    place = std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.last_use; });
  }
  if (place == known_.end()) {
    place = known_.try_emplace(key).first;
  } else {
    Destroy(place->second);
    auto node = known_.extract(place);
    node.key() = key;
    place = known_.insert(std::move(node)).position;
  }
  Known& known = place->second;
  std::swap(known.commands, stretch);
  known.last_use = ++num_uses_;
  known.is_given_up = false;
}

CudaGraphs::Failed CudaGraphs::Issue(CudaStretch& stretch) {
  const auto is_large_copy = [](const CudaLaunch& launch) { return launch.bytes > kMostCopiedBytes; };
  if (stretch.size() < kLeastCommands || std::ranges::any_of(stretch, is_large_copy)) return IssueEach(stretch);
  const uint64_t key = KeyOf(stretch);
  const auto found = known_.find(key);
  const auto is_same = [&](const CudaStretch& commands) {
    return std::equal(commands.begin(), commands.end(), stretch.begin(), stretch.end(),
                      [](const CudaLaunch& a, const CudaLaunch& b) { return a.IsSame(b); });
  };
  if (found == known_.end() || !is_same(found->second.commands)) {
    const Failed failed = IssueEach(stretch);
    Keep(key, stretch);
    return failed;
  }
  Known& known = found->second;
  known.last_use = ++num_uses_;
  if (known.exec == nullptr && !known.is_given_up) known.is_given_up = !Make(known);
  if (known.is_given_up) return IssueEach(stretch);
  return {Status(), {functions_.GraphLaunch(known.exec, stream_), "cuGraphLaunch"}, stretch[0].op};
}

}  // namespace tandem::cuda
