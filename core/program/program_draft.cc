// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Instructions as they are written. The table of kernels says which parts one may have; where one ends, since lines
// mean nothing, is where a part comes that it cannot have.

#include "program_draft.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "program_attr_reader.h"
#include "program_tensor_reader.h"

namespace tandem {

namespace {

using Kind = ProgramToken::Kind;

// Brackets around items mean nothing; more of them in one another are a slip.
constexpr int kMaxBrackets = 8;

class DraftReader {
 public:
  DraftReader(ProgramTokens& tokens, const ProgramFunctionNames& functions, const ProgramValueNames& values,
              ProgramDraft* draft)
      : tokens_(tokens), functions_(functions), values_(values), draft_(*draft), instruction_(draft->instruction) {}

  Status Read() {
    TANDEM_RETURN_IF_ERROR(ReadResults());
    TANDEM_RETURN_IF_ERROR(ReadKernel());
    TANDEM_RETURN_IF_ERROR(ReadItems());
    if (IsKernel(ProgramKernel::kConstDenseTensor) && draft_.has_name) {
      TANDEM_RETURN_IF_ERROR(tokens_.Expect(':', "':' and the type of the weight"));
      return ReadProgramTensorType(tokens_, &instruction_.weight_metadata);
    }
    return tokens_.Take(':') ? ReadSignature() : Status();
  }

 private:
  bool IsKernel(ProgramKernel kernel) const { return instruction_.kernel == kernel; }

  Status ReadResults() {
    if (!tokens_.Is(Kind::kValue)) return Status();
    do {
      const ProgramToken value = tokens_.token();
      if (value.kind != Kind::kValue) return tokens_.Unexpected("a result such as %name");
      if (value.index != ProgramToken::kNoIndex) return tokens_.Unexpected("a name without '#' for a result");
      tokens_.Next();
      uint32_t count = 1;
      if (tokens_.Take(':')) {
        TANDEM_RETURN_IF_ERROR(ReadCount(1, &count));
      }
      draft_.num_results += count;
      if (draft_.num_results > Program::kMaxOperands) {
        return tokens_.Wrong(value.offset, "expected at most ", Program::kMaxOperands, " results, got ",
                             draft_.num_results);
      }
      draft_.results.push_back({value.content, value.offset, count});
    } while (tokens_.Take(','));
    return tokens_.Expect('=');
  }

  // A number of results, at least `least`.
  Status ReadCount(uint32_t least, uint32_t* count) {
    const std::string_view text = tokens_.token().text;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, *count);
    const bool is_number = tokens_.Is(Kind::kNumber) && stop == end;
    if (!is_number || error != std::errc() || *count < least || *count > Program::kMaxOperands) {
      return tokens_.Wrong(tokens_.token().offset, "expected a number of results from ", least, " to ",
                           Program::kMaxOperands, ", got '", ProgramTokens::Shown(text), "'");
    }
    tokens_.Next();
    return Status();
  }

  Status ReadKernel() {
    const ProgramToken& token = tokens_.token();
    if (token.kind != Kind::kIdentifier && token.kind != Kind::kString) {
      return tokens_.Unexpected(draft_.results.empty() ? "an instruction or '}'" : "a kernel such as corert.executeop");
    }
    const std::string name = Unescape(token);
    draft_.kernel_offset = token.offset;
    instruction_.position = tokens_.PositionOf(token.offset);
    TANDEM_RETURN_IF_ERROR(FindKernel(name));
    draft_.info = &InfoOf(instruction_.kernel);
    tokens_.Next();
    return Status();
  }

  Status FindKernel(std::string_view name) {
    const std::string_view creation = ProgramKernelName(ProgramKernel::kCreateDenseTensor);
    if (name == creation || (name.starts_with(creation) && name[creation.size()] == '.')) {
      instruction_.kernel = ProgramKernel::kCreateDenseTensor;
      const std::optional<DType> dtype =
          name == creation ? std::nullopt : ParseProgramElement(name.substr(creation.size() + 1));
      if (!dtype || *dtype == DType::kString) {
        return tokens_.Unexpected("a kernel with a dtype of numbers, such as corert.create_dense_tensor.f32");
      }
      draft_.dtype = *dtype;
      return Status();
    }
    const std::optional<ProgramKernel> kernel = FindProgramKernel(name);
    if (kernel) {
      instruction_.kernel = *kernel;
      if (IsKernel(ProgramKernel::kConstStringTensor)) draft_.dtype = DType::kString;
      return Status();
    }
    // A word without a dot is hardly meant as a kernel.
    if (name.find('.') == std::string_view::npos && draft_.results.empty()) {
      return tokens_.Unexpected("an instruction or '}'");
    }
    const std::string_view nearest = NearestProgramKernelName(name);
    return tokens_.Wrong(tokens_.token().offset, "expected a kernel, got '", ProgramTokens::Shown(tokens_.token().text),
                         "'", nearest.empty() ? "" : ", did you mean ", nearest);
  }

  Status ReadItems() {
    int brackets = 0;
    for (;;) {
      if (tokens_.Take(',')) continue;
      if (tokens_.Is('(')) {
        if (++brackets > kMaxBrackets) {
          return tokens_.Wrong(tokens_.token().offset, "expected at most ", kMaxBrackets, " brackets in one another");
        }
        tokens_.Next();
        continue;
      }
      if (brackets > 0 && tokens_.Take(')')) {
        --brackets;
        continue;
      }
      if (brackets == 0 && IsBehindItems()) return Status();
      bool is_item = true;
      TANDEM_RETURN_IF_ERROR(ReadItem(&is_item));
      if (is_item) continue;
      return brackets == 0 ? Status() : tokens_.Unexpected("',' or ')'");
    }
  }

  // Of a token that may be an item, whether it begins the next instruction instead.
  bool IsBehindItems() {
    if (tokens_.Is(Kind::kString)) return !TakesName();
    if (!tokens_.Is(Kind::kValue) || tokens_.token().offset < values_until_) return false;
    const ProgramTokens::Mark begin = tokens_.Here();
    bool is_left_side = false;
    while (tokens_.Is(Kind::kValue)) {
      tokens_.Next();
      if (tokens_.Take(':')) {
        if (!tokens_.Is(Kind::kNumber)) break;
        tokens_.Next();
      }
      is_left_side = tokens_.Is('=');
      if (!tokens_.Take(',')) break;
    }
    values_until_ = tokens_.token().offset;
    tokens_.Return(begin);
    return is_left_side;
  }

  bool TakesName() const {
    if (draft_.has_name) return false;
    return !draft_.info->name_meaning.empty() || (IsKernel(ProgramKernel::kConstDenseTensor) && !instruction_.constant);
  }

  Status ReadItem(bool* is_item) {
    if (tokens_.Is(Kind::kValue)) return ReadOperand();
    if (tokens_.Is(Kind::kSymbol)) return ReadFunction();
    if (tokens_.Is(Kind::kString)) return ReadName();
    if (tokens_.Is('{')) return ReadBraces();
    if (tokens_.IsWord("dense")) return ReadDense();
    if (tokens_.IsWord("parallel_iterations")) return ReadParallelIterations();
    *is_item = false;
    return Status();
  }

  Status ReadOperand() {
    const ProgramToken& token = tokens_.token();
    if (instruction_.operands.size() == Program::kMaxOperands) {
      return tokens_.Wrong(token.offset, "expected at most ", Program::kMaxOperands, " operands, got more");
    }
    TANDEM_ASSIGN_OR_RETURN(const uint32_t value, FindProgramValue(tokens_, token, values_));
    instruction_.operands.push_back(value);
    draft_.operand_offsets.push_back(token.offset);
    tokens_.Next();
    return Status();
  }

  Status ReadFunction() {
    const ProgramToken& token = tokens_.token();
    if (instruction_.functions.size() == draft_.info->num_functions)
      return NoMore("functions", draft_.info->num_functions > 0);
    TANDEM_ASSIGN_OR_RETURN(const uint32_t function, FindProgramFunction(tokens_, token, functions_));
    instruction_.functions.push_back(function);
    draft_.function_offsets.push_back(token.offset);
    tokens_.Next();
    return Status();
  }

  Status ReadName() {
    const ProgramToken& token = tokens_.token();
    if (!TakesName()) return NoMore("names", draft_.has_name);
    const std::string_view meaning = draft_.info->name_meaning;
    if (token.content.empty()) return tokens_.Unexpected(meaning.empty() ? "the name of a weight" : meaning);
    instruction_.name = Unescape(token);
    draft_.has_name = true;
    tokens_.Next();
    return Status();
  }

  Status ReadBraces() {
    const bool creates = draft_.dtype != DType::kInvalid;
    if (draft_.has_attrs || !(creates || draft_.info->takes_attrs)) return NoMore("attributes", draft_.has_attrs);
    draft_.has_attrs = true;
    if (!creates) return ReadProgramAttrs(tokens_, &instruction_.attrs);
    auto constant = std::make_shared<ProgramConstant>();
    TANDEM_RETURN_IF_ERROR(ReadProgramCreation(tokens_, draft_.dtype, constant.get()));
    instruction_.constant = std::move(constant);
    return Status();
  }

  Status ReadDense() {
    const size_t offset = tokens_.token().offset;
    if (!IsKernel(ProgramKernel::kConstDenseTensor) || draft_.has_name || instruction_.constant) {
      return NoMore("tensors", draft_.has_name || instruction_.constant);
    }
    auto constant = std::make_shared<ProgramConstant>();
    TANDEM_RETURN_IF_ERROR(ReadProgramDense(tokens_, constant.get()));
    if (constant->metadata.dtype == DType::kString) {
      return tokens_.Wrong(offset,
                           "expected a tensor of numbers, got strings, which are for corert.const_string_tensor");
    }
    instruction_.constant = std::move(constant);
    return Status();
  }

  // How many rounds of a loop may run at a time, which is for the runner to choose.
  Status ReadParallelIterations() {
    if (!IsKernel(ProgramKernel::kWhile)) return NoMore("parallel_iterations", false);
    tokens_.Next();
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('('));
    const std::string_view text = tokens_.token().text;
    const bool is_count =
        tokens_.Is(Kind::kNumber) && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_count) return tokens_.Unexpected("a number of iterations");
    tokens_.Next();
    return tokens_.Expect(')');
  }

  // The current token is an item of a kind of which the kernel takes none or has all.
  Status NoMore(std::string_view what, bool has_some) const {
    return tokens_.Wrong(tokens_.token().offset, "expected no ", has_some ? "more " : "", what, " for ",
                         draft_.info->name, ", got '", ProgramTokens::Shown(tokens_.token().text), "'");
  }

  // Behind the colon.
  Status ReadSignature() {
    const size_t offset = tokens_.token().offset;
    if (tokens_.Is(Kind::kNumber)) {
      draft_.count_offset = offset;
      return ReadCount(0, &draft_.count.emplace());
    }
    ProgramDraft::Types& operands = draft_.operand_types.emplace();
    operands.offset = offset;
    if (!tokens_.Is(Kind::kType) && !tokens_.Is('(')) return tokens_.Unexpected("a number of results or types");
    do {
      TANDEM_RETURN_IF_ERROR(ReadProgramTypes(tokens_, &operands));
    } while (tokens_.Take(','));
    if (!tokens_.Is(Kind::kArrow)) return Status();
    tokens_.Next();
    ProgramDraft::Types& results = draft_.result_types.emplace();
    results.offset = tokens_.token().offset;
    return ReadProgramTypes(tokens_, &results);
  }

  ProgramTokens& tokens_;
  const ProgramFunctionNames& functions_;
  const ProgramValueNames& values_;
  ProgramDraft& draft_;
  ProgramInstruction& instruction_;
  size_t values_until_ = 0;  // before this offset, values are no left side
};

}  // namespace

Status ReadProgramDraft(ProgramTokens& tokens, const ProgramFunctionNames& functions, const ProgramValueNames& values,
                        ProgramDraft* draft) {
  return DraftReader(tokens, functions, values, draft).Read();
}

Status ReadProgramType(ProgramTokens& tokens, ProgramType* type) {
  for (int i = 0; i < kNumProgramTypes && tokens.Is(Kind::kType); ++i) {
    if (tokens.token().text != ProgramTypeName(static_cast<ProgramType>(i))) continue;
    *type = static_cast<ProgramType>(i);
    tokens.Next();
    return Status();
  }
  return tokens.Unexpected("!tfrt.chain, !corert.tensorhandle, !corert.ophandler, !corert.op or !corert.shape");
}

Status ReadProgramTypes(ProgramTokens& tokens, ProgramDraft::Types* types) {
  const bool is_list = tokens.Take('(');
  if (is_list && tokens.Take(')')) return Status();
  do {
    types->offsets.push_back(tokens.token().offset);
    TANDEM_RETURN_IF_ERROR(ReadProgramType(tokens, &types->types.emplace_back()));
  } while (is_list && tokens.Take(','));
  return is_list ? tokens.Expect(')', "',' or ')'") : Status();
}

}  // namespace tandem
