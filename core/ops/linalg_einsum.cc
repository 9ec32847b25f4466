// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EinsumEquation: reading the equation, and checking it against the inputs.

#include <algorithm>
#include <cstddef>

#include "op_definition.h"
#include "tandem/einsum_equation.h"

namespace tandem {
namespace {

constexpr int64_t kUnknown = -1;

int LetterOf(char c) {
  if (c >= 'a' && c <= 'z') return c - 'a';
  if (c >= 'A' && c <= 'Z') return c - 'A' + 26;
  return -1;
}

// Reads an equation from left to right.
class Reader {
 public:
  explicit Reader(std::string_view equation) : equation_(equation), rest_(equation) {}

  // Whether `token` is next; if so, it is taken.
  bool Take(std::string_view token) {
    SkipSpaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // The next letter, or -1.
  int TakeLetter() {
    SkipSpaces();
    const int letter = rest_.empty() ? -1 : LetterOf(rest_.front());
    if (letter >= 0) rest_.remove_prefix(1);
    return letter;
  }
  bool AtEnd() {
    SkipSpaces();
    return rest_.empty();
  }
  std::string_view equation() const { return equation_; }

 private:
  void SkipSpaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  const std::string_view equation_;
  std::string_view rest_;
};

// The letters of one input or of the result, and where '...' is among them.
struct Subscripts {
  int num_letters = 0;
  int ellipsis = -1;  // how many letters are before it; -1: there is none
  uint8_t letters[TensorShape::kMaxRank];
};

StatusOr<Subscripts> ReadSubscripts(Reader& reader) {
  Subscripts result;
  for (;;) {
    if (reader.Take("...")) {
      if (result.ellipsis >= 0) {
        return InvalidArgument("equation must have '...' once at most in each of its parts, got equation: ",
                               reader.equation());
      }
      result.ellipsis = result.num_letters;
      continue;
    }
    const int letter = reader.TakeLetter();
    if (letter < 0) return result;
    if (result.num_letters == TensorShape::kMaxRank) {
      return InvalidArgument("equation must have at most ", TensorShape::kMaxRank,
                             " letters in each of its parts, got equation: ", reader.equation());
    }
    result.letters[result.num_letters++] = static_cast<uint8_t>(letter);
  }
}

// Calls fn(label) for each dimension in order, '...' standing for `ellipsis_rank` of them; stops at the first error.
template <typename Fn>
Status ForEachLabel(const Subscripts& subscripts, int ellipsis_rank, Fn fn) {
  for (int i = 0; i <= subscripts.num_letters; ++i) {
    if (i == subscripts.ellipsis) {
      for (int j = ellipsis_rank - 1; j >= 0; --j) TANDEM_RETURN_IF_ERROR(fn(EinsumEquation::kNumLetters + j));
    }
    if (i < subscripts.num_letters) TANDEM_RETURN_IF_ERROR(fn(int{subscripts.letters[i]}));
  }
  return Status();
}

class Matcher {
 public:
  Matcher(std::string_view text, std::span<const TensorMetadata* const> inputs) : text_(text), inputs_(inputs) {
    std::fill_n(result_.sizes, EinsumEquation::kNumLabels, kUnknown);
  }

  Status AddInput(size_t number, const Subscripts& subscripts) {
    const TensorMetadata& input = *inputs_[number];
    const int ellipsis_rank = subscripts.ellipsis < 0 ? 0 : input.rank() - subscripts.num_letters;
    if (ellipsis_rank < 0 || (subscripts.ellipsis < 0 && input.rank() != subscripts.num_letters)) {
      return InvalidArgument("equation must have a letter for each dimension of inputs[", static_cast<int64_t>(number),
                             "], got equation: ", text_, ", inputs[", static_cast<int64_t>(number), "]: ", input);
    }
    ellipsis_rank_ = std::max(ellipsis_rank_, ellipsis_rank);
    EinsumEquation::Labels& labels = result_.inputs[number];
    return ForEachLabel(subscripts, ellipsis_rank, [&](int label) {
      const int64_t size = input.dim(labels.rank);
      labels.of[labels.rank++] = static_cast<uint8_t>(label);
      return AddSize(label, size);
    });
  }

  StatusOr<EinsumEquation> Finish(const Subscripts& subscripts) {
    if (ellipsis_rank_ > 0 && subscripts.ellipsis < 0) {
      return InvalidArgument(
          "equation must have '...' in its result if it stands for dimensions, got equation: ", text_, Given{inputs_});
    }
    EinsumEquation::Labels& labels = result_.output;
    TANDEM_RETURN_IF_ERROR(ForEachLabel(subscripts, ellipsis_rank_, [&](int label) {
      if (result_.sizes[label] == kUnknown) {
        return InvalidArgument("equation must have each letter of its result in an input, got equation: ", text_);
      }
      if (labels.rank == TensorShape::kMaxRank) {
        return InvalidArgument("the result must have at most ", TensorShape::kMaxRank,
                               " dimensions, got equation: ", text_, Given{inputs_});
      }
      labels.of[labels.rank++] = static_cast<uint8_t>(label);
      return Status();
    }));
    return result_;
  }

 private:
  // As text: ", inputs[0]: f32[2], inputs[1]: f32[3]".
  struct Given {
    std::span<const TensorMetadata* const> inputs;
    friend void AppendTo(MessageBuilder& out, const Given& given) {
      for (size_t i = 0; i < given.inputs.size(); ++i) {
        AppendTo(out, ", inputs[");
        AppendTo(out, static_cast<int64_t>(i));
        AppendTo(out, "]: ");
        AppendTo(out, *given.inputs[i]);
      }
    }
  };

  Status AddSize(int label, int64_t size) {
    int64_t& known = result_.sizes[label];
    const bool may_stretch = label >= EinsumEquation::kNumLetters;
    if (known == kUnknown || (may_stretch && known == 1)) {
      known = size;
    } else if (size != known && !(may_stretch && size == 1)) {
      if (may_stretch) {
        return InvalidArgument("dimensions that '...' stands for must be broadcastable, got equation: ", text_,
                               Given{inputs_});
      }
      return InvalidArgument("dimensions of the same letter must be equal, got ", known, " and ", size,
                             " in equation: ", text_, Given{inputs_});
    }
    return Status();
  }

  const std::string_view text_;
  const std::span<const TensorMetadata* const> inputs_;
  EinsumEquation result_;
  int ellipsis_rank_ = 0;
};

}  // namespace

StatusOr<EinsumEquation> EinsumEquation::Parse(std::string_view equation,
                                               std::span<const TensorMetadata* const> inputs) {
  if (inputs.empty() || inputs.size() > kMaxInputs) {
    return InvalidArgument("inputs must be one or two tensors, got ", static_cast<int64_t>(inputs.size()));
  }
  Reader reader(equation);
  Matcher matcher(equation, inputs);
  Subscripts parts[kMaxInputs];
  size_t num_parts = 0;
  do {
    TANDEM_ASSIGN_OR_RETURN(const Subscripts subscripts, ReadSubscripts(reader));
    if (num_parts < kMaxInputs) parts[num_parts] = subscripts;
    ++num_parts;
  } while (reader.Take(","));
  const bool has_arrow = reader.Take("->");
  TANDEM_ASSIGN_OR_RETURN(const Subscripts output, ReadSubscripts(reader));
  if (!has_arrow || !reader.AtEnd()) {
    return InvalidArgument(
        "equation must be letters and '...', separated by ',' between inputs and by '->' before the "
        "result, got equation: ",
        equation);
  }
  if (num_parts != inputs.size()) {
    return InvalidArgument("equation must have a part for each input, got equation: ", equation,
                           ", inputs: ", static_cast<int64_t>(inputs.size()));
  }
  for (size_t i = 0; i < num_parts; ++i) TANDEM_RETURN_IF_ERROR(matcher.AddInput(i, parts[i]));
  return matcher.Finish(output);
}

}  // namespace tandem
