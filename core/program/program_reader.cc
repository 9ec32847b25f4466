// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Program::FromText: first what functions there are and what they take and give, since they may call those behind them,
// then their bodies.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_body_reader.h"
#include "program_draft.h"
#include "program_lexer.h"
#include "program_names.h"
#include "tandem/program.h"

namespace tandem {

namespace {

using Kind = ProgramToken::Kind;

class ProgramReader {
 public:
  ProgramReader(std::string_view text, std::string_view file) : tokens_(text, file) {}

  StatusOr<std::vector<ProgramFunction>> Read() {
    const ProgramTokens::Mark begin = tokens_.Here();
    while (!tokens_.Is(Kind::kEnd)) {
      TANDEM_RETURN_IF_ERROR(ReadHeader());
      TANDEM_RETURN_IF_ERROR(SkipBody());
    }
    const size_t end = tokens_.token().offset;
    tokens_.Return(begin);
    for (uint32_t i = 0; i < functions_.size(); ++i) {
      TANDEM_RETURN_IF_ERROR(ReadFunction(i));
      // A bracket too many ends a body before what was taken for its end.
      if (tokens_.token().offset != (i + 1 < functions_.size() ? headers_[i + 1].begin : end)) {
        return tokens_.Unexpected("'func'");
      }
    }
    return std::move(functions_);
  }

 private:
  struct Header {
    size_t begin;
    ProgramTokens::Mark body;  // the first token of it
    std::vector<ProgramToken> parameters;
  };

  Status ReadHeader() {
    Header& header = headers_.emplace_back();
    header.begin = tokens_.token().offset;
    if (!tokens_.IsWord("func")) return tokens_.Unexpected("'func'");
    tokens_.Next();
    ProgramFunction& function = functions_.emplace_back();
    TANDEM_RETURN_IF_ERROR(ReadName(&function));
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('('));
    if (!tokens_.Is(')')) {
      do {
        TANDEM_RETURN_IF_ERROR(ReadParameter(&header, &function));
      } while (tokens_.Take(','));
    }
    TANDEM_RETURN_IF_ERROR(tokens_.Expect(')', "',' or ')'"));
    function.num_parameters = static_cast<uint32_t>(function.value_types.size());
    if (tokens_.Is(Kind::kArrow)) {
      tokens_.Next();
      ProgramDraft::Types results;
      TANDEM_RETURN_IF_ERROR(ReadProgramTypes(tokens_, &results));
      function.result_types = std::move(results.types);
    }
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('{', function.result_types.empty() ? "'->' or '{'" : "'{'"));
    header.body = tokens_.Here();
    return Status();
  }

  Status ReadName(ProgramFunction* function) {
    const ProgramToken& token = tokens_.token();
    if (!tokens_.Is(Kind::kSymbol) || token.content.empty()) {
      return tokens_.Unexpected("the name of a function, such as @name");
    }
    if (functions_.size() > Program::kMaxFunctions) {
      return tokens_.Wrong(token.offset, "expected at most ", Program::kMaxFunctions, " functions, got more");
    }
    function->name = Unescape(token);
    function->position = tokens_.PositionOf(token.offset);
    const auto index = static_cast<uint32_t>(functions_.size() - 1);
    if (const ProgramNamedFunction* before = names_.Add(function->name, {index, token.offset})) {
      return tokens_.Wrong(token.offset, "expected a name that is new, got '", ProgramTokens::Shown(token.text),
                           "', which line ", tokens_.LineOf(before->offset), " defines");
    }
    tokens_.Next();
    return Status();
  }

  Status ReadParameter(Header* header, ProgramFunction* function) {
    const ProgramToken& token = tokens_.token();
    if (!tokens_.Is(Kind::kValue) || token.index != ProgramToken::kNoIndex) {
      return tokens_.Unexpected("a parameter such as %name : !corert.tensorhandle");
    }
    if (header->parameters.size() == Program::kMaxValues) {
      return tokens_.Wrong(token.offset, "expected at most ", Program::kMaxValues, " parameters, got more");
    }
    header->parameters.push_back(token);
    tokens_.Next();
    TANDEM_RETURN_IF_ERROR(tokens_.Expect(':'));
    return ReadProgramType(tokens_, &function->value_types.emplace_back());
  }

  // From the first token of a body to behind its bracket at the end, or to what can only be behind that if there is
  // none: then ReadFunction finds it missing.
  Status SkipBody() {
    for (int depth = 1; depth > 0; tokens_.Next()) {
      if (tokens_.Is(Kind::kBad)) return tokens_.Unexpected({});
      if (tokens_.Is(Kind::kEnd) || BeginsFunction()) return Status();
      if (tokens_.Is('{')) ++depth;
      if (tokens_.Is('}')) --depth;
    }
    return Status();
  }

  // "func" may also be the name of an attribute.
  bool BeginsFunction() {
    if (!tokens_.IsWord("func")) return false;
    const ProgramTokens::Mark begin = tokens_.Here();
    tokens_.Next();
    const bool is_name_next = tokens_.Is(Kind::kSymbol);
    tokens_.Return(begin);
    return is_name_next;
  }

  Status ReadFunction(uint32_t index) {
    tokens_.Return(headers_[index].body);
    ProgramBodyReader body(tokens_, functions_, names_, index);
    for (const ProgramToken& parameter : headers_[index].parameters) {
      TANDEM_RETURN_IF_ERROR(body.NameParameter(parameter));
    }
    return body.Read(&num_instructions_);
  }

  ProgramTokens tokens_;
  std::vector<ProgramFunction> functions_;
  std::vector<Header> headers_;
  ProgramFunctionNames names_;
  size_t num_instructions_ = 0;
};

}  // namespace

StatusOr<RcRef<const Program>> Program::FromText(std::string_view text, std::string_view file) {
  TANDEM_ASSIGN_OR_RETURN(std::vector<ProgramFunction> functions, ProgramReader(text, file).Read());
  return Create(std::move(functions), file);
}

}  // namespace tandem
