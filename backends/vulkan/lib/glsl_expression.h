// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GlslExpressions: types and expressions of the kernels' language in GLSL.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_GLSL_EXPRESSION_H_
#define TANDEM_BACKENDS_VULKAN_LIB_GLSL_EXPRESSION_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/status.h"
#include "wgsl_tokens.h"

namespace tandem::vulkan {

// A type in GLSL: "float" with the extents {"4", "TILE_v"} is float[4][TILE_v]; an extent is empty where the array's
// length is that of its buffer.
struct GlslType {
  std::string base;
  std::vector<std::string> extents;

  std::string Extents() const;
};

// A place in a row of tokens, and what it takes to read types and expressions from there. The first error is kept;
// after it the place is the end of the text, and results are meaningless.
class GlslExpressions {
 public:
  explicit GlslExpressions(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

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

  GlslType ReadType();
  std::string ReadExpression();
  // The same where values must be known to the compiler.
  std::string ReadConstant();
  // `f(a, b)`, from the parenthesis.
  std::vector<std::string> ReadArguments();

  // Begins something that may be within others of its kind, `what` in the plural; false, and an error, too deep. Leave
  // ends it, in any case.
  bool Enter(std::string_view what);
  void Leave() { --depth_; }

  // A name of the kernel's in GLSL.
  static std::string Rename(std::string_view name) {
    // GLSL keeps names for itself that begin with "gl_".
    if (name == "gl" || name.starts_with("gl_")) return "g_" + std::string(name) + "_g";
    return std::string(name) + "_v";
  }

  void AddAlias(std::string_view name, GlslType type) { aliases_[name] = std::move(type); }
  void AddFunction(std::string_view name) { functions_.insert(name); }
  void SetParametersName(std::string_view name) { parameters_ = name; }

 private:
  // Operators of a level and all that bind tighter.
  std::string ReadBinary(int level);
  std::string ReadUnary();
  std::string ReadPrimary();
  std::string ReadNumber();
  std::string ReadCall(std::string_view name);
  std::string ReadAtomic(std::string_view name);
  std::string ReadMembers(std::string expression);
  void AcceptClosingAngle();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Status status_;
  bool constant_ = false;
  int depth_ = 0;
  std::map<std::string_view, GlslType> aliases_;
  std::set<std::string_view> functions_;
  std::string_view parameters_;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_GLSL_EXPRESSION_H_
