// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelExpressions: types and expressions of the kernels' language, said in a dialect.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_EXPRESSIONS_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_EXPRESSIONS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_dialect.h"
#include "tandem/status.h"
#include "wgsl_tokens.h"

namespace tandem::shader {

// "a, b".
std::string JoinedByCommas(const std::vector<std::string>& parts);

// A place in a row of tokens, and what it takes to read types and expressions from there. The first error is kept;
// after it the place is the end of the text, and results are meaningless.
class KernelExpressions {
 public:
  KernelExpressions(std::vector<Token> tokens, const KernelDialect& dialect)
      : tokens_(std::move(tokens)), dialect_(dialect) {}

  const Status& status() const { return status_; }
  void Fail(std::string_view expected);

  const Token& token() const { return tokens_[at_]; }
  const Token& Next() const { return tokens_[at_ + (at_ + 1 < tokens_.size() ? 1 : 0)]; }
  bool AtEnd() const { return token().kind == Token::Kind::kEnd; }
  bool Is(std::string_view text) const { return token().text == text && !AtEnd(); }
  // Goes on by one token, if it is that.
  bool Accept(std::string_view text);
  void Expect(std::string_view text);
  std::string_view ExpectName();

  KernelType ReadType();
  std::string ReadExpression();
  // The same where values must be known to the compiler.
  std::string ReadConstant();
  // `f(a, b)`, from the parenthesis.
  std::vector<std::string> ReadArguments();

  // Begins something that may be within others of its kind, `what` in the plural; false, and an error, too deep. Leave
  // ends it, in any case.
  bool Enter(std::string_view what);
  void Leave() { --depth_; }

  std::string Rename(std::string_view name) const { return dialect_.Rename(name); }

  void AddAlias(std::string_view name, KernelType type) { aliases_[name] = std::move(type); }
  void AddFunction(std::string_view name) { functions_.insert(name); }
  void SetParametersName(std::string_view name) { parameters_ = name; }

 private:
  // Operators of a level and all that bind tighter.
  std::string ReadBinary(int level);
  std::string ReadUnary();
  std::string ReadPrimary();
  std::string ReadNumber();
  std::string ReadBitcast();
  std::string ReadCall(std::string_view name);
  std::string ReadAtomic(std::string_view name);
  std::string ReadMembers(std::string expression);
  void AcceptClosingAngle();

  std::vector<Token> tokens_;
  const KernelDialect& dialect_;
  size_t at_ = 0;
  Status status_;
  bool constant_ = false;
  int depth_ = 0;
  std::map<std::string_view, KernelType> aliases_;
  std::set<std::string_view> functions_;
  std::string_view parameters_;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_EXPRESSIONS_H_
