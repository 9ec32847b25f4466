// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// StaticRegexReplace, StringNGrams, StringSplit, StringSplitV2, StringToHashBucketFast.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/sparse/sparse_kernels.h"
#include "kernels/text/fingerprint.h"
#include "tandem/host_tensors.h"
#include "tandem/regular_expression.h"

namespace tandem::cpu {
namespace {

Status HashKernel(const Tensor& input, KernelFrame& frame) {
  auto* out = frame.AllocateResult<int64_t>(0);
  if (out == nullptr) return Status();
  const StringHostView strings(input);
  const auto buckets = static_cast<uint64_t>(frame.attrs().GetOr<int64_t>("num_buckets", 1));
  frame.ParallelFor(strings.size(), 30, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<int64_t>(Fingerprint64(strings[i]) % buckets);
  });
  return Status();
}

// Calls visit(part) for each part of `text`, which ends at each byte of `delimiters`, or at each byte if there is none.
template <typename Visit>
void SplitAtBytes(std::string_view text, std::string_view delimiters, bool skips_empty, Visit visit) {
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) visit(text.substr(i, 1));
    return;
  }
  while (true) {
    const size_t end = text.find_first_of(delimiters);
    const std::string_view part = text.substr(0, end);
    if (!part.empty() || !skips_empty) visit(part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The same for parts between `separator`, or between white space if it is empty; after `most` of them, if that is above
// 0, the rest is the last one.
template <typename Visit>
void SplitAtText(std::string_view text, std::string_view separator, int64_t most, Visit visit) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto skip_space = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size())); };
  if (most == 0) return visit(text);
  if (separator.empty()) skip_space();
  for (int64_t count = 1;; ++count) {
    if (separator.empty() && text.empty()) return;
    const size_t end = separator.empty() ? text.find_first_of(kSpace) : text.find(separator);
    visit(text.substr(0, end));
    if (end == std::string_view::npos && !separator.empty()) return;
    text.remove_prefix(std::min(text.size(), end == std::string_view::npos ? end : end + separator.size()));
    if (separator.empty()) skip_space();
    if (count == most) return visit(text);
  }
}

// The parts of all strings as a sparse tensor; split(text, visit) visits the parts of one.
template <typename Split>
Status GiveParts(KernelFrame& frame, Split split) {
  const Tensor& input = frame.arg(0);
  const StringHostView strings(input);
  int64_t count = 0;
  int64_t longest = 0;
  StopPoll poll(kPollSteps);
  for (int64_t row = 0; row < strings.size(); ++row) {
    if (poll.Stops(1 + static_cast<int64_t>(strings[row].size()))) return KernelRun::CheckWanted();
    int64_t parts = 0;
    split(strings[row], [&](std::string_view) { ++parts; });
    count += parts;
    longest = std::max(longest, parts);
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor indices, NewDense(frame, DType::kI64, {count, 2}));
  TANDEM_ASSIGN_OR_RETURN(Tensor shape, NewDense(frame, DType::kI64, {2}));
  NewElements values;
  TANDEM_RETURN_IF_ERROR(values.Init(frame, DType::kString, {count}));
  auto* views = reinterpret_cast<std::string_view*>(values.data());
  auto* index = static_cast<int64_t*>(indices.mutable_data());
  for (int64_t row = 0; row < strings.size(); ++row) {
    if (poll.Stops(1 + static_cast<int64_t>(strings[row].size()))) return KernelRun::CheckWanted();
    int64_t column = 0;
    split(strings[row], [&](std::string_view part) {
      *views++ = part;
      *index++ = row;
      *index++ = column++;
    });
  }
  StoreIndex(shape, 0, strings.size());
  StoreIndex(shape, 1, longest);
  TANDEM_ASSIGN_OR_RETURN(Tensor parts, values.Finish(frame));
  frame.SetResult(0, std::move(indices));
  frame.SetResult(1, std::move(parts));
  frame.SetResult(2, std::move(shape));
  return Status();
}

Status CheckSplitArguments(const Tensor& input, const char* name, const Tensor& separator) {
  if (input.shape().rank() != 1) return InvalidArgument("input must be a vector, got input: ", input.metadata());
  if (separator.shape().rank() == 0) return Status();
  return InvalidArgument(name, " must be a scalar, got ", name, ": ", separator.metadata());
}

Status StringSplitKernel(const Tensor& input, const Tensor& delimiter, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckSplitArguments(input, "delimiter", delimiter));
  const std::string_view delimiters = StringHostView(delimiter)[0];
  const bool skips_empty = frame.attrs().GetOr("skip_empty", true);
  return GiveParts(frame,
                   [&](std::string_view text, auto visit) { SplitAtBytes(text, delimiters, skips_empty, visit); });
}

Status StringSplitV2Kernel(const Tensor& input, const Tensor& sep, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckSplitArguments(input, "sep", sep));
  const std::string_view separator = StringHostView(sep)[0];
  const auto most = frame.attrs().GetOr<int64_t>("maxsplit", -1);
  return GiveParts(frame, [&](std::string_view text, auto visit) { SplitAtText(text, separator, most, visit); });
}

// A replacement of matches, for one string after the other.
class Replacement {
 public:
  explicit Replacement(const OpAttrsRef& attrs)
      : rewrite_(attrs.GetOr<std::string_view>("rewrite", "")), is_global_(attrs.GetOr("replace_global", true)) {}

  Status Init(const KernelFrame& frame) {
    TANDEM_ASSIGN_OR_RETURN(pattern_, RegularExpression::Parse(frame.attrs().GetOr<std::string_view>("pattern", "")));
    scratch_ = TaskArray<std::byte>(static_cast<int64_t>(pattern_.scratch_size()));
    return scratch_ == nullptr ? Status::OutOfMemory() : Status();
  }

  // Calls visit(part) for the parts of the result.
  template <typename Visit>
  void Run(std::string_view text, Visit visit) const {
    size_t groups[2 * RegularExpression::kMaxGroups];
    size_t at = 0;
    size_t last_end = RegularExpression::kNone;
    while (at <= text.size() && pattern_.Find(text, at, groups, scratch_.get())) {
      visit(text.substr(at, groups[0] - at));
      at = groups[0];
      if (groups[1] == at && last_end == at) {  // nothing, right behind a match
        size_t next = at + 1;
        while (next < text.size() && (static_cast<uint8_t>(text[next]) & 0xC0) == 0x80) ++next;
        visit(text.substr(at, next - at));
        at = next;
        continue;
      }
      Rewrite(text, groups, visit);
      at = last_end = groups[1];
      if (!is_global_) break;
    }
    if (at < text.size()) visit(text.substr(at));
  }

 private:
  template <typename Visit>
  void Rewrite(std::string_view text, const size_t* groups, Visit visit) const {
    for (size_t i = 0; i < rewrite_.size(); ++i) {
      if (rewrite_[i] != '\\' || rewrite_[++i] == '\\') {
        visit(rewrite_.substr(i, 1));
        continue;
      }
      const size_t* group = groups + 2 * (rewrite_[i] - '0');
      if (group[0] != RegularExpression::kNone) visit(text.substr(group[0], group[1] - group[0]));
    }
  }

  std::string_view rewrite_;
  bool is_global_;
  RegularExpression pattern_;
  TaskArray<std::byte> scratch_;
};

Status StaticRegexReplaceKernel(const Tensor& input, KernelFrame& frame) {
  Replacement replacement(frame.attrs());
  TANDEM_RETURN_IF_ERROR(replacement.Init(frame));
  const StringHostView strings(input);
  int64_t bytes = 0;
  for (int64_t i = 0; i < strings.size(); ++i) {
    if (i % 64 == 0) TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
    replacement.Run(strings[i], [&](std::string_view part) { bytes += static_cast<int64_t>(part.size()); });
  }
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  TaskArray<char> characters(bytes);
  NewElements texts;
  TANDEM_RETURN_IF_ERROR(texts.Init(frame, DType::kString, input.shape()));
  if (characters == nullptr) return Status::OutOfMemory();
  char* at = characters.get();
  const char* const end = at + bytes;
  auto* view = reinterpret_cast<std::string_view*>(texts.data());
  for (int64_t i = 0; i < strings.size(); ++i) {
    if (i % 64 == 0) TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
    const char* const begin = at;
    replacement.Run(strings[i], [&](std::string_view part) {
      // A kernel that is to end may find other matches than before.
      if (part.size() <= static_cast<size_t>(end - at)) at = std::copy(part.begin(), part.end(), at);
    });
    *view++ = std::string_view(begin, static_cast<size_t>(at - begin));
  }
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  TANDEM_ASSIGN_OR_RETURN(Tensor result, texts.Finish(frame));
  frame.SetResult(0, std::move(result));
  return Status();
}

// One n-gram: a row's strings [first, first + count) with padding around them.
struct NGram {
  int64_t left;
  int64_t first;
  int64_t count;
  int64_t right;
};

struct NGrams {
  explicit NGrams(const OpAttrsRef& attrs)
      : separator(attrs.GetOr<std::string_view>("separator", "")),
        left_pad(attrs.GetOr<std::string_view>("left_pad", "")),
        right_pad(attrs.GetOr<std::string_view>("right_pad", "")),
        pad_width(attrs.GetOr<int64_t>("pad_width", 0)),
        preserves_short(attrs.GetOr("preserve_short_sequences", false)) {
    attrs.GetArray("ngram_widths", &widths);
  }

  int64_t Padding(int64_t width) const { return pad_width < 0 ? width - 1 : std::min(pad_width, width - 1); }

  // Calls visit(n-gram) for those of a row of `length` strings from `first` on.
  template <typename Visit>
  void ForEach(int64_t first, int64_t length, Visit visit) const {
    bool is_any = false;
    for (const int64_t width : widths) {
      const int64_t padding = Padding(width);
      const int64_t count = std::max<int64_t>(0, length + 2 * padding - width + 1);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t left = std::max<int64_t>(0, padding - i);
        const int64_t right = std::max<int64_t>(0, padding - (count - i - 1));
        visit(NGram{left, first + std::max<int64_t>(0, i - padding), width - left - right, right});
        is_any = true;
      }
    }
    const int64_t padding = std::max<int64_t>(0, pad_width);
    if (preserves_short && !is_any && length > 0) visit(NGram{padding, first, length, padding});
  }

  // Calls visit(text) for what an n-gram consists of.
  template <typename Visit>
  void ForEachText(const StringHostView& strings, const NGram& ngram, Visit visit) const {
    bool is_first = true;
    const auto add = [&](std::string_view text) {
      if (!is_first) visit(separator);
      is_first = false;
      visit(text);
    };
    for (int64_t i = 0; i < ngram.left; ++i) add(left_pad);
    for (int64_t i = 0; i < ngram.count; ++i) add(strings[ngram.first + i]);
    for (int64_t i = 0; i < ngram.right; ++i) add(right_pad);
  }

  std::string_view separator;
  std::string_view left_pad;
  std::string_view right_pad;
  int64_t pad_width;
  bool preserves_short;
  std::span<const int64_t> widths;
};

Status CheckNGrams(const NGrams& ngrams, const Tensor& data, const DenseArg& splits) {
  constexpr int64_t kMaxWidth = int64_t{1} << 31;
  if (data.shape().rank() != 1 || splits.shape().rank() != 1) {
    return InvalidArgument("data and data_splits must be vectors, got data: ", data.metadata(),
                           ", data_splits: ", splits.metadata());
  }
  for (const int64_t width : ngrams.widths) {
    if (width >= 1 && width <= kMaxWidth) continue;
    return InvalidArgument("ngram_widths must be in [1, 2^31], got ", width);
  }
  if (ngrams.pad_width > kMaxWidth) return InvalidArgument("pad_width must be at most 2^31, got ", ngrams.pad_width);
  int64_t previous = 0;
  for (int64_t i = 0; i < splits.size(); ++i) {
    const int64_t split = IndexAt(splits.tensor(), i);
    if (split < previous || (i == 0 && split != 0)) {
      return InvalidArgument("data_splits must begin with 0 and ascend, got ", split, " at element ", i);
    }
    previous = split;
  }
  if (previous != data.num_elements()) {
    return InvalidArgument("data_splits must end with the ", data.num_elements(), " strings of data, got ", previous);
  }
  return Status();
}

Status StringNGramsKernel(const Tensor& data, DenseArg data_splits, KernelFrame& frame) {
  const NGrams ngrams(frame.attrs());
  TANDEM_RETURN_IF_ERROR(CheckNGrams(ngrams, data, data_splits));
  const StringHostView strings(data);
  TANDEM_ASSIGN_OR_RETURN(Tensor splits, NewDense(frame, data_splits.dtype(), data_splits.shape()));
  const auto for_each = [&](auto visit, auto end_row) {
    StopPoll poll(kPollSteps);
    for (int64_t row = 0; row + 1 < data_splits.size(); ++row) {
      const int64_t first = IndexAt(data_splits.tensor(), row);
      ngrams.ForEach(first, IndexAt(data_splits.tensor(), row + 1) - first, [&](const NGram& ngram) {
        if (!poll.Stops(ngram.left + ngram.count + ngram.right)) visit(ngram);
      });
      end_row(row);
    }
  };
  int64_t count = 0;
  int64_t bytes = 0;
  if (splits.num_elements() > 0) StoreIndex(splits, 0, 0);
  for_each(
      [&](const NGram& ngram) {
        ++count;
        ngrams.ForEachText(strings, ngram, [&](std::string_view text) { bytes += static_cast<int64_t>(text.size()); });
      },
      [&](int64_t row) { StoreIndex(splits, row + 1, count); });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  if (splits.dtype() == DType::kI32 && count > INT32_MAX) {
    return InvalidArgument("there must be at most 2^31-1 n-grams, got ", count, "; make data_splits i64");
  }
  TaskArray<char> characters(bytes);
  NewElements texts;
  TANDEM_RETURN_IF_ERROR(texts.Init(frame, DType::kString, {count}));
  if (characters == nullptr) return Status::OutOfMemory();
  char* at = characters.get();
  auto* view = reinterpret_cast<std::string_view*>(texts.data());
  for_each(
      [&](const NGram& ngram) {
        const char* const begin = at;
        ngrams.ForEachText(strings, ngram,
                           [&](std::string_view text) { at = std::copy(text.begin(), text.end(), at); });
        *view++ = std::string_view(begin, static_cast<size_t>(at - begin));
      },
      [](int64_t) {});
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  TANDEM_ASSIGN_OR_RETURN(Tensor result, texts.Finish(frame));
  frame.SetResult(0, std::move(result));
  frame.SetResult(1, std::move(splits));
  return Status();
}

}  // namespace

Status RegisterTextKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&StaticRegexReplaceKernel>("tf.StaticRegexReplace", {}, {200}),
      KernelEntryOf<&StringNGramsKernel>("tf.StringNGrams", {DType::kI32, DType::kI64}, {50}),
      KernelEntryOf<&StringSplitKernel>("tf.StringSplit", {}, {50}),
      KernelEntryOf<&StringSplitV2Kernel>("tf.StringSplitV2", {}, {50}),
      KernelEntryOf<&HashKernel>("tf.StringToHashBucketFast", {}, {30}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
