// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NonMaxSuppressionV3, V4 and V5: in f32.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/converted.h"
#include "kernels/image/image_kernels.h"
#include "kernels/polls.h"
#include "simd/scalar_math.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

struct Candidate {
  int32_t box;
  float score;
  int32_t first_unseen;  // of the selected boxes it was not compared with yet
};

// The best one comes first: the highest score, and of equal ones the box that comes first.
bool IsWorse(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.box > b.box);
}

// Intersection over union of two boxes, whose corners are opposite ones in any order; 0 of a box without area.
float Overlap(const float* a, const float* b) {
  const auto area = [](float top, float left, float bottom, float right) { return (bottom - top) * (right - left); };
  const float a_top = std::min(a[0], a[2]), a_left = std::min(a[1], a[3]);
  const float a_bottom = std::max(a[0], a[2]), a_right = std::max(a[1], a[3]);
  const float b_top = std::min(b[0], b[2]), b_left = std::min(b[1], b[3]);
  const float b_bottom = std::max(b[0], b[2]), b_right = std::max(b[1], b[3]);
  const float a_area = area(a_top, a_left, a_bottom, a_right);
  const float b_area = area(b_top, b_left, b_bottom, b_right);
  if (a_area <= 0 || b_area <= 0) return 0;
  const float height = std::max(std::min(a_bottom, b_bottom) - std::max(a_top, b_top), 0.0f);
  const float width = std::max(std::min(a_right, b_right) - std::max(a_left, b_left), 0.0f);
  const float both = height * width;
  return both / (a_area + b_area - both);
}

struct Thresholds {
  float overlap;
  float score;
  float sigma;  // of soft suppression; none if 0
};

// Selects boxes greedily, by score, and writes them with their scores; returns how many.
class Selection {
 public:
  Selection(const float* boxes, Thresholds thresholds, int32_t* selected, float* scores)
      : boxes_(boxes), thresholds_(thresholds), selected_(selected), scores_(scores) {}

  int64_t Run(Candidate* candidates, int64_t count, int64_t limit) {
    std::make_heap(candidates, candidates + count, &IsWorse);
    StopPoll poll(kPollSteps);
    while (size_ < limit && count > 0 && !poll.Stops(1 + size_)) {
      std::pop_heap(candidates, candidates + count, &IsWorse);
      Candidate candidate = candidates[--count];
      const float score = candidate.score;
      if (!Lower(candidate)) continue;
      if (candidate.score == score) {
        selected_[size_] = candidate.box;
        scores_[size_++] = score;
      } else if (candidate.score > thresholds_.score) {
        candidate.first_unseen = static_cast<int32_t>(size_);
        candidates[count++] = candidate;
        std::push_heap(candidates, candidates + count, &IsWorse);
      }
    }
    return size_;
  }

 private:
  // Lowers the score by the boxes that were selected since it was last compared; false if one rules it out.
  bool Lower(Candidate& candidate) const {
    const bool is_soft = thresholds_.sigma > 0;
    for (int64_t i = size_; i-- > candidate.first_unseen;) {
      const float overlap = Overlap(boxes_ + 4 * int64_t{candidate.box}, boxes_ + 4 * int64_t{selected_[i]});
      if (!is_soft) {
        if (overlap > thresholds_.overlap) return false;
        continue;
      }
      const float exponent = -0.5f / thresholds_.sigma * overlap * overlap;
      candidate.score *= static_cast<float>(math_.exp(exponent));
      if (candidate.score <= thresholds_.score) break;
    }
    return true;
  }

  const float* boxes_;
  const Thresholds thresholds_;
  int32_t* selected_;
  float* scores_;
  const ScalarMath& math_ = MathOfRun();
  int64_t size_ = 0;
};

StatusOr<float> ReadThreshold(const DenseArg& value, const char* name) {
  if (value.shape().rank() != 0) return InvalidArgument(name, " must be a scalar, got ", name, ": ", value.metadata());
  return value.dtype() == DType::kF32 ? *value.data<float>() : static_cast<float>(*value.data<Float16>());
}

// What a version of the op gives.
struct Version {
  bool gives_scores;
  bool gives_count;
};

Status Suppress(KernelFrame& frame, const DenseArg& boxes, const DenseArg& scores, const HostInput& max_output_size,
                Thresholds thresholds, Version version) {
  if (boxes.shape().rank() != 2 || boxes.shape().dim(1) != 4 || scores.shape().rank() != 1 ||
      scores.shape().dim(0) != boxes.shape().dim(0)) {
    return InvalidArgument("boxes must have shape [n,4] and scores [n], got boxes: ", boxes.metadata(),
                           ", scores: ", scores.metadata());
  }
  TANDEM_ASSIGN_OR_RETURN(const int64_t limit, max_output_size.Scalar("max_output_size"));
  if (limit < 0) return InvalidArgument("max_output_size must be at least 0, got max_output_size: ", limit);
  if (!(thresholds.overlap >= 0 && thresholds.overlap <= 1)) {
    return InvalidArgument("iou_threshold must be in [0, 1], got ", thresholds.overlap);
  }
  const int64_t n = scores.size();
  if (n > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("there must be at most 2^31-1 boxes, got boxes: ", boxes.metadata());
  }
  ConvertedArg<float> box_numbers;
  ConvertedArg<float> score_numbers;
  Scratch<Candidate> candidates;
  Scratch<int32_t> selected;
  Scratch<float> selected_scores;
  TANDEM_RETURN_IF_ERROR(box_numbers.Init(frame, boxes));
  TANDEM_RETURN_IF_ERROR(score_numbers.Init(frame, scores));
  TANDEM_RETURN_IF_ERROR(candidates.Init(frame, n));
  TANDEM_RETURN_IF_ERROR(selected.Init(frame, n));
  TANDEM_RETURN_IF_ERROR(selected_scores.Init(frame, n));
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float score = score_numbers.data()[i];
    if (score > thresholds.score) candidates.data()[count++] = {static_cast<int32_t>(i), score, 0};
  }
  Selection selection(box_numbers.data(), thresholds, selected.data(), selected_scores.data());
  const int64_t size = selection.Run(candidates.data(), count, limit);
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());

  const int64_t length = frame.attrs().GetOr("pad_to_max_output_size", false) ? limit : size;
  HostAllocator& allocator = frame.host().allocator();
  size_t next = 0;
  TANDEM_ASSIGN_OR_RETURN(Tensor indices, AllocateDense({DType::kI32, {length}}, frame.host().device(), allocator));
  auto* index = static_cast<int32_t*>(indices.mutable_data());
  std::fill(std::copy_n(selected.data(), size, index), index + length, 0);
  frame.SetResult(next++, std::move(indices));
  if (version.gives_scores) {
    TANDEM_ASSIGN_OR_RETURN(Tensor best, AllocateDense({scores.dtype(), {length}}, frame.host().device(), allocator));
    const auto bytes = static_cast<size_t>(length) * DTypeSize(scores.dtype());
    ClearLong(static_cast<std::byte*>(best.mutable_data()), bytes);
    if (scores.dtype() == DType::kF32) {
      std::copy_n(selected_scores.data(), size, static_cast<float*>(best.mutable_data()));
    } else {
      ConvertElements(frame, DType::kF32, selected_scores.data(), scores.dtype(), best.mutable_data(), size);
    }
    frame.SetResult(next++, std::move(best));
  }
  if (version.gives_count) {
    TANDEM_ASSIGN_OR_RETURN(Tensor valid,
                            AllocateDense({DType::kI32, TensorShape()}, frame.host().device(), allocator));
    *static_cast<int32_t*>(valid.mutable_data()) = static_cast<int32_t>(size);
    frame.SetResult(next, std::move(valid));
  }
  return Status();
}

template <bool gives_count>
Status HardKernel(DenseArg boxes, DenseArg scores, HostInput max_output_size, DenseArg iou_threshold,
                  DenseArg score_threshold, KernelFrame& frame) {
  Thresholds thresholds = {};
  TANDEM_ASSIGN_OR_RETURN(thresholds.overlap, ReadThreshold(iou_threshold, "iou_threshold"));
  TANDEM_ASSIGN_OR_RETURN(thresholds.score, ReadThreshold(score_threshold, "score_threshold"));
  return Suppress(frame, boxes, scores, max_output_size, thresholds, {false, gives_count});
}

Status SoftKernel(DenseArg boxes, DenseArg scores, HostInput max_output_size, DenseArg iou_threshold,
                  DenseArg score_threshold, DenseArg soft_nms_sigma, KernelFrame& frame) {
  Thresholds thresholds = {};
  TANDEM_ASSIGN_OR_RETURN(thresholds.overlap, ReadThreshold(iou_threshold, "iou_threshold"));
  TANDEM_ASSIGN_OR_RETURN(thresholds.score, ReadThreshold(score_threshold, "score_threshold"));
  TANDEM_ASSIGN_OR_RETURN(thresholds.sigma, ReadThreshold(soft_nms_sigma, "soft_nms_sigma"));
  if (!(thresholds.sigma >= 0)) {
    return InvalidArgument("soft_nms_sigma must be at least 0, got ", thresholds.sigma);
  }
  return Suppress(frame, boxes, scores, max_output_size, thresholds, {true, true});
}

}  // namespace

Status RegisterBoxKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kDTypes = {DType::kF16, DType::kF32};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&HardKernel<false>>("tf.NonMaxSuppressionV3", kDTypes, {50}),
      KernelEntryOf<&HardKernel<true>>("tf.NonMaxSuppressionV4", kDTypes, {50}),
      KernelEntryOf<&SoftKernel>("tf.NonMaxSuppressionV5", kDTypes, {50}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
