// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What reading a text that is no program says, and where (PR-1).

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program_text.h"
#include "tandem/program.h"

namespace tandem {
namespace {

// A text with '~' before the place of the error, and what is wrong there.
struct Case {
  std::string_view text;
  std::string_view what;
};

// That the text of each case, ASCII without tabs or long lines, gives exactly its error.
void ExpectErrors(std::span<const Case> cases, bool is_in_function = false) {
  for (const Case& test : cases) {
    std::string text = is_in_function ? InFunction(test.text) : std::string(test.text);
    const size_t place = text.find('~');
    ASSERT_NE(place, std::string::npos) << test.text;
    text.erase(place, 1);
    size_t line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < place; ++i) {
      if (text[i] != '\n') continue;
      ++line;
      begin = i + 1;
    }
    const size_t column = place - begin;
    std::string expected = "t.mlir:" + std::to_string(line) + ":" + std::to_string(column + 1) + ": ";
    expected += test.what;
    expected += "\n" + text.substr(begin, text.find('\n', place) - begin) + "\n" + std::string(column, ' ') + "^";
    EXPECT_EQ(ErrorOf(text), expected) << test.text;
  }
}
void ExpectErrorsInFunction(std::span<const Case> cases) { ExpectErrors(cases, /*is_in_function=*/true); }

TEST(ProgramTextErrorTest, PR1_ErrorsShowPlaceAndLine) {
  EXPECT_EQ(ErrorOf("func @f() {\n  %a = tfrt.new.chian()\n  tfrt.return\n}"),
            "t.mlir:2:8: expected a kernel, got 'tfrt.new.chian', did you mean tfrt.new.chain\n"
            "  %a = tfrt.new.chian()\n"
            "       ^");
}

TEST(ProgramTextErrorTest, PR1_TheMarkStandsUnderItsCharacter) {
  // Tabs stay, a character of several bytes is one column, and the end of a line of either kind is none of it.
  EXPECT_EQ(ErrorOf("\tfunc @\"\u00fc\U0001F600\"\t( x"),
            "t.mlir:1:15: expected a parameter such as %name : !corert.tensorhandle, got 'x'\n"
            "\tfunc @\"\u00fc\U0001F600\"\t( x\n"
            "\t          \t  ^");
  EXPECT_EQ(ErrorOf("// one\r\n// two\r\n\r\nfunk\r\nfunc"), "t.mlir:4:1: expected 'func', got 'funk'\nfunk\n^");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBF  funk"), "t.mlir:1:3: expected 'func', got 'funk'\n  funk\n  ^");
}

TEST(ProgramTextErrorTest, PR1_WhatIsMissingIsMissedAtTheEndOfTheText) {
  EXPECT_EQ(ErrorOf("func @f() // comment\n\n"),
            "t.mlir:1:10: expected '->' or '{', got the end of the text\nfunc @f() // comment\n         ^");
  EXPECT_EQ(ErrorOf("func"),
            "t.mlir:1:5: expected the name of a function, such as @name, got the end of the text\n"
            "func\n    ^");
  EXPECT_EQ(ErrorOf("func @f() {\n  tfrt.return\r\n"),
            "t.mlir:2:14: expected '}' behind tfrt.return, got the end of the text\n  tfrt.return\n             ^");
}

TEST(ProgramTextErrorTest, PR1_LongLinesAreCutAroundThePlace) {
  const auto digits = [](int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += static_cast<char>('0' + i % 10);
    return text;
  };
  const std::string comment = "// " + digits(3, 200);
  // At the beginning, in the middle and at the end of a line of 100 characters or more.
  EXPECT_EQ(ErrorOf("funk " + comment),
            "t.mlir:1:1: expected 'func', got 'funk'\n" + ("funk " + comment).substr(0, 100) + "...\n^");
  EXPECT_EQ(ErrorOf(std::string(200, ' ') + "funk " + comment),
            "t.mlir:1:201: expected 'func', got 'funk'\n..." + std::string(60, ' ') +
                ("funk " + comment).substr(0, 40) + "...\n" + std::string(63, ' ') + "^");
  EXPECT_EQ(ErrorOf(std::string(200, ' ') + "funk"), "t.mlir:1:201: expected 'func', got 'funk'\n..." +
                                                         std::string(96, ' ') + "funk\n" + std::string(99, ' ') + "^");
  const std::string hundred = std::string(96, ' ') + "funk";
  EXPECT_EQ(ErrorOf(hundred),
            "t.mlir:1:97: expected 'func', got 'funk'\n" + hundred + "\n" + std::string(96, ' ') + "^");
  // Characters count, not bytes.
  std::string accents;
  for (int i = 0; i < 60; ++i) accents += "\u00fc";
  EXPECT_EQ(ErrorOf("func @\"" + accents + accents + "\" x"),
            "t.mlir:1:130: expected '(', got 'x'\n..." + accents.substr(0, 2 * 57) + accents.substr(0, 2 * 40) +
                "\" x\n" + std::string(102, ' ') + "^");
}

TEST(ProgramTextErrorTest, PR1_ErrorsAreTextWhateverTheProgramIs) {
  EXPECT_EQ(ErrorOf("func @f() { \xFF\x01\xC3\x7F }"),
            "t.mlir:1:13: expected an instruction or '}', got '?'\nfunc @f() { ???? }\n            ^");
  EXPECT_EQ(ErrorOf("func @" + std::string(100, 'a') + " x"),
            "t.mlir:1:108: expected '(', got 'x'\n..." + std::string(98, 'a') + " x\n" + std::string(102, ' ') + "^");
  EXPECT_EQ(FirstLineOfError(std::string(100, 'x')),
            "t.mlir:1:1: expected 'func', got '" + std::string(64, 'x') + "...'");
}

TEST(ProgramTextErrorTest, PR1_WrongTokens) {
  const Case kCases[] = {
      {"~$", "expected 'func', got '$'"},
      {"func ~@(", "expected a name of letters, digits, '_', '$', '.' and '-' or in quotes after '@'"},
      {"func @f(~%", "expected a name of letters, digits, '_', '$', '.' and '-', or a number, after '%'"},
      {"func @f(~%1x: !tfrt.chain)",
       "expected a name of letters, digits, '_', '$', '.' and '-', or a number, after '%'"},
      {"func @f(~%a#: !tfrt.chain)", "expected the number of a result after '#'"},
      {"func @f(%a: ~!)", "expected the name of a type after '!'"},
      {"func @f() -> ~!tfrt.chian {",
       "expected !tfrt.chain, !corert.tensorhandle, !corert.ophandler, !corert.op or !corert.shape, got '!tfrt.chian'"},
      {"func @~\"f", "expected a string with a closing '\"' on its line"},
      {"func @~\"f\n\"", "expected a string with a closing '\"' on its line"},
      {"func @\"f~\\a\"",
       "expected one of \\\", \\\\, \\n, \\t and \\xHH, with two hexadecimal digits, after a backslash in a string"},
      {"func @\"f~\\x1g\"",
       "expected one of \\\", \\\\, \\n, \\t and \\xHH, with two hexadecimal digits, after a backslash in a string"},
      {"func @f() { ~12ab", "expected a number such as 12, -1.5e-3 or 0x1f"},
      {"func @f() { ~1e", "expected a number such as 12, -1.5e-3 or 0x1f"},
      {"func @f() { ~0x", "expected a number such as 12, -1.5e-3 or 0x1f"},
      {"func @f() { ~-nan", "expected a number such as 12, -1.5e-3 or 0x1f"},
      {"func @f() { ~- 1", "expected a number such as 12, -1.5e-3 or 0x1f"},
      {"func @f() { ~/ 1", "expected an instruction or '}', got '/'"},
  };
  ExpectErrors(kCases);
  EXPECT_EQ(ErrorOf("func @\"\xC3\x28\""),
            "t.mlir:1:8: expected characters of UTF-8 in a string, or \\xHH for a byte "
            "that is none\nfunc @\"?(\"\n       ^");
}

TEST(ProgramTextErrorTest, PR1_WrongFunctions) {
  const Case kCases[] = {
      {"~tfrt.return", "expected 'func', got 'tfrt.return'"},
      {"func ~f() {", "expected the name of a function, such as @name, got 'f'"},
      {"func ~@\"\"() {", "expected the name of a function, such as @name, got '@\"\"'"},
      {"func @f~{", "expected '(', got '{'"},
      {"func @f(~a) {", "expected a parameter such as %name : !corert.tensorhandle, got 'a'"},
      {"func @f(~%a#1: !tfrt.chain) {", "expected a parameter such as %name : !corert.tensorhandle, got '%a#1'"},
      {"func @f(%a~) {", "expected ':', got ')'"},
      {"func @f(%a: ~f32) {",
       "expected !tfrt.chain, !corert.tensorhandle, !corert.ophandler, !corert.op or !corert.shape, got 'f32'"},
      {"func @f(%a: !tfrt.chain ~%b: !tfrt.chain) {", "expected ',' or ')', got '%b'"},
      {"func @f() -> ~{",
       "expected !tfrt.chain, !corert.tensorhandle, !corert.ophandler, !corert.op or !corert.shape, got '{'"},
      {"func @f() -> (!tfrt.chain ~!tfrt.chain) {", "expected ',' or ')', got '!tfrt.chain'"},
      {"func @f() ~tfrt.return }", "expected '->' or '{', got 'tfrt.return'"},
      {"func @f() -> !tfrt.chain ~tfrt.return }", "expected '{', got 'tfrt.return'"},
      {"func @f(%a: !tfrt.chain,\n  ~%a: !corert.op) { tfrt.return }",
       "expected a name that is new, got '%a', which line 1 defines"},
      {"func @f() { tfrt.return }\nfunc @g() { tfrt.return }\nfunc ~@\"f\"() { tfrt.return }",
       "expected a name that is new, got '@\"f\"', which line 1 defines"},
      {"func @f() {\n~}", "expected tfrt.return as the last instruction of @f, got '}'"},
      {"func @f() {\n  tfrt.new.chain ~}", "expected tfrt.return as the last instruction of @f, got '}'"},
      {"func @f() {\n  tfrt.return\n  ~%a = tfrt.new.chain\n}", "expected '}' behind tfrt.return, got '%a'"},
      {"func @f() {\n  tfrt.return\n\n~func @g() { tfrt.return }", "expected '}' behind tfrt.return, got 'func'"},
      {"func @f() {\n  tfrt.new.chain\n\n~func @g() { tfrt.return }", "expected an instruction or '}', got 'func'"},
      {"func @f() { tfrt.return }\n~}", "expected 'func', got '}'"},
  };
  ExpectErrors(kCases);
}

TEST(ProgramTextErrorTest, PR1_ABracketTooManyIsFound) {
  // The braces are even, so the function seems to end behind the second.
  EXPECT_EQ(FirstLineOfError("func @f() { tfrt.return } }"), "t.mlir:1:27: expected 'func', got '}'");
  EXPECT_EQ(FirstLineOfError("func @f() { tfrt.return { } } func @g() { tfrt.return }"),
            "t.mlir:1:25: expected no attributes for tfrt.return, got '{'");
}

TEST(ProgramTextErrorTest, PR1_WrongInstructions) {
  const Case kCases[] = {
      {"~foo", "expected an instruction or '}', got 'foo'"},
      {"~)", "expected an instruction or '}', got ')'"},
      {"~corert.execute_op(%h) \"op\"()", "expected a kernel, got 'corert.execute_op', did you mean corert.executeop"},
      {"~\"tf.Add\"(%t, %t)", "expected a kernel, got '\"tf.Add\"'"},
      {"%a = ~foo", "expected a kernel, got 'foo'"},
      {"%a = ~%b", "expected a kernel such as corert.executeop, got '%b'"},
      {"%a = ~corert.create_dense_tensor {}",
       "expected a kernel with a dtype of numbers, such as corert.create_dense_tensor.f32, got "
       "'corert.create_dense_tensor'"},
      {"%a = ~corert.create_dense_tensor.f23 {}",
       "expected a kernel with a dtype of numbers, such as corert.create_dense_tensor.f32, got "
       "'corert.create_dense_tensor.f23'"},
      {"%a = ~corert.create_dense_tensor.string {}",
       "expected a kernel with a dtype of numbers, such as corert.create_dense_tensor.f32, got "
       "'corert.create_dense_tensor.string'"},
      {"%a ~tfrt.new.chain", "expected '=', got 'tfrt.new.chain'"},
      {"%a, ~tfrt.new.chain", "expected a result such as %name, got 'tfrt.new.chain'"},
      {"~%a#0 = tfrt.new.chain", "expected a name without '#' for a result, got '%a#0'"},
      {"%a:~0 = tfrt.new.chain", "expected a number of results from 1 to 65536, got '0'"},
      {"%a:~65537 = tfrt.new.chain", "expected a number of results from 1 to 65536, got '65537'"},
      {"%a:~1.5 = tfrt.new.chain", "expected a number of results from 1 to 65536, got '1.5'"},
      {"%a:~x = tfrt.new.chain", "expected a number of results from 1 to 65536, got 'x'"},
      {"%a:65536, ~%b = tfrt.new.chain", "expected at most 65536 results, got 65537"},
      {"~%t = tfrt.new.chain", "expected a name that is new, got '%t', which line 1 defines"},
      {"%a, ~%a = corert.executeop(%h) \"op\"()", "expected a name that is new, got '%a', which line 2 defines"},
      {"%a = tfrt.merge.chains(%ch, ~@f)", "expected no functions for tfrt.merge.chains, got '@f'"},
      {"%a = tfrt.merge.chains(%ch ~= %ch)", "expected ',' or ')', got '='"},
      {"%a = tfrt.merge.chains(%ch ~\"x\")", "expected no names for tfrt.merge.chains, got '\"x\"'"},
      {"%a = tfrt.merge.chains ~{}", "expected no attributes for tfrt.merge.chains, got '{'"},
      {"%a = tfrt.merge.chains ~dense<1> : tensor<i32>", "expected no tensors for tfrt.merge.chains, got 'dense'"},
      {"%a = tfrt.merge.chains ~parallel_iterations(1)",
       "expected no parallel_iterations for tfrt.merge.chains, got 'parallel_iterations'"},
      {"%a = tfrt.merge.chains((((((((~(%ch)))))))))", "expected at most 8 brackets in one another"},
      {"corert.executeop(%h) \"op\"() {} ~{}", "expected no more attributes for corert.executeop, got '{'"},
      {"corert.executeop(%h) \"op\"(~\"op\")", "expected no more names for corert.executeop, got '\"op\"'"},
      {"corert.executeop(%h) ~\"\"()", "expected the name of an op, got '\"\"'"},
      {"%a = corert.const_dense_tensor ~\"\" : tensor<f32>", "expected the name of a weight, got '\"\"'"},
      {"%a = corert.const_dense_tensor dense<1> : tensor<i32> ~dense<1> : tensor<i32>",
       "expected no more tensors for corert.const_dense_tensor, got 'dense'"},
      {"%a = corert.const_dense_tensor ~dense<\"x\"> : tensor<string>",
       "expected a tensor of numbers, got strings, which are for corert.const_string_tensor"},
  };
  ExpectErrorsInFunction(kCases);
}

TEST(ProgramTextErrorTest, PR1_UnknownNames) {
  const Case kCases[] = {
      {"%lhs = tfrt.new.chain %a = tfrt.merge.chains ~%lsh",
       "expected a value that was defined before, got '%lsh', did you mean %lhs"},
      {"%a = tfrt.merge.chains ~%b %b = tfrt.new.chain", "expected a value that was defined before, got '%b'"},
      {"%a = tfrt.merge.chains ~%a", "expected a value that was defined before, got '%a'"},
      {"%r:2 = corert.executeop(%h) \"op\"(~%t#1)", "expected %t#0, got '%t#1'"},
      {"%r:2 = corert.executeop(%h) \"op\"() corert.executeop(%h) \"op\"(~%r)", "expected %r#0 to #1, got '%r'"},
      {"%r:2 = corert.executeop(%h) \"op\"() corert.executeop(%h) \"op\"(~%r#2)", "expected %r#0 to #1, got '%r#2'"},
      {"corert.executeop(%h) \"op\"(~%t#99999999999999999999)", "expected %t#0, got '%t#99999999999999999999'"},
      {"tfrt.call ~@g()", "expected a function of the program, got '@g'"},
      {"tfrt.call ~@\"\"()", "expected a function of the program, got '@\"\"'"},
  };
  ExpectErrorsInFunction(kCases);
  EXPECT_EQ(FirstLineOfError("func @condition() { tfrt.return }\nfunc @f() { tfrt.call @conditoin() tfrt.return }"),
            "t.mlir:2:23: expected a function of the program, got '@conditoin', did you mean @condition");
}

TEST(ProgramTextErrorTest, PR1_WrongOperands) {
  const Case kCases[] = {
      {"~corert.transfer %t", "expected 2 operands for corert.transfer, got 1"},
      {"corert.transfer %t %h ~%h", "expected 2 operands for corert.transfer, got 3"},
      {"corert.transfer ~%h %t",
       "expected a value of type !corert.tensorhandle for corert.transfer, got %h of type !corert.ophandler"},
      {"tfrt.new.chain ~%ch", "expected no operands for tfrt.new.chain, got 1"},
      {"~corert.executeop() \"op\"", "expected at least 1 operand for corert.executeop, got 0"},
      {"corert.executeop(~%t) \"op\"()",
       "expected a value of type !corert.ophandler for corert.executeop, got %t of type !corert.tensorhandle"},
      {"corert.executeop(%h) \"op\"(%t, ~%ch)",
       "expected a value of type !corert.tensorhandle for corert.executeop, got %ch of type !tfrt.chain"},
      {"tfrt.merge.chains %ch ~%t",
       "expected a value of type !tfrt.chain for tfrt.merge.chains, got %t of type !corert.tensorhandle"},
      {"~corert.print_tensorhandle", "expected 1 or 2 operands for corert.print_tensorhandle, got 0"},
      {"corert.print_tensorhandle(%t %ch ~%ch)", "expected 1 or 2 operands for corert.print_tensorhandle, got 3"},
      {"corert.print_tensorhandle(~%ch, %t)",
       "expected a value of type !corert.tensorhandle for corert.print_tensorhandle, got %ch of type !tfrt.chain"},
      {"corert.get_op_handler ~%t \"cpu\"",
       "expected a value of type !tfrt.chain for corert.get_op_handler, got %t of type !corert.tensorhandle"},
      {"~corert.get_op_handler %ch",
       "expected the name of an op handler in quotes for corert.get_op_handler, got none"},
      {"~corert.executeop(%h)", "expected the name of an op in quotes for corert.executeop, got none"},
      {"~corert.const_dense_tensor",
       "expected dense<...> or the name of a weight for corert.const_dense_tensor, got none"},
      {"~corert.create_dense_tensor.f32",
       "expected {shape = ..., values = ...} for corert.create_dense_tensor, got none"},
      {"~corert.const_string_tensor", "expected {shape = ..., values = ...} for corert.const_string_tensor, got none"},
      {"corert.const_dense_tensor \"w\"\n~tfrt.return", "expected ':' and the type of the weight, got 'tfrt.return'"},
  };
  ExpectErrorsInFunction(kCases);
}

// Functions for those below.
std::string WithFunctions(std::string_view instruction) {
  return "func @f(%h: !corert.ophandler, %t: !corert.tensorhandle, %ch: !tfrt.chain) {\n" + std::string(instruction) +
         R"(
  tfrt.return
}
func @none() { tfrt.return }
func @t(%x: !corert.tensorhandle) -> !corert.tensorhandle { tfrt.return %x }
func @tt(%x: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) { tfrt.return %x, %x }
func @ch(%x: !tfrt.chain) -> !tfrt.chain { tfrt.return %x }
func @th(%x: !corert.tensorhandle) -> !tfrt.chain { %c = tfrt.new.chain tfrt.return %c }
func @h(%x: !corert.ophandler) -> !corert.ophandler { tfrt.return %x }
)";
}

TEST(ProgramTextErrorTest, PR1_WrongCalls) {
  const Case kCases[] = {
      {"~tfrt.call", "expected 1 function for tfrt.call, got 0"},
      {"tfrt.call @none ~@none", "expected no more functions for tfrt.call, got '@none'"},
      {"tfrt.call ~@t()", "expected 1 argument for @t, got 0"},
      {"tfrt.call ~@none(%t)", "expected no arguments for @none, got 1"},
      {"tfrt.call @t(~%ch)", "expected a value of type !corert.tensorhandle for @t, got %ch of type !tfrt.chain"},
      {"~%a, %b = tfrt.call @t(%t)", "expected names for 1 result of tfrt.call, got 2"},
      {"%a = tfrt.call @t(%t) : ~2", "expected 1 result of tfrt.call, got 2"},
      {"~tfrt.cond %t @t (%t)", "expected 2 functions for tfrt.cond, got 1"},
      {"~tfrt.cond @t @t", "expected at least 1 operand for tfrt.cond, got 0"},
      {"tfrt.cond ~%ch @t @t (%t)",
       "expected a value of type !corert.tensorhandle for tfrt.cond, got %ch of type !tfrt.chain"},
      {"tfrt.cond %t @t ~@none (%t)", "expected no arguments for @none, got 1"},
      {"tfrt.cond %t @t ~@th (%t)", "expected @th to give results of the same types as @t"},
      {"tfrt.cond %t ~@h @h (%h)", "expected @h to give tensors, shapes and chains alone"},
      {"corert.cond %t @ch @ch (~%ch)",
       "expected a value of type !corert.tensorhandle for corert.cond, got %ch of type !tfrt.chain"},
      {"corert.cond %t ~@th @th (%t)", "expected @th to give tensors alone"},
      {"corert.while ~@tt @t (%t)", "expected @tt to give one tensor, the condition, not 2"},
      {"corert.while @t ~@tt (%t)", "expected @tt to give as many results as it takes arguments, 1, not 2"},
      {"corert.while ~@th @t (%t)", "expected @th to give tensors alone"},
      {"corert.while ~@t @t", "expected 1 argument for @t, got 0"},
      {"corert.while @t @t (%t) parallel_iterations(~x)", "expected a number of iterations, got 'x'"},
      {"corert.make_composite_op ~@ch", "expected @ch to take tensors alone"},
      {"corert.make_composite_op ~@th", "expected @th to give tensors alone"},
      {"%o = corert.make_composite_op @t corert.execute_crt_op(~%o)", "expected 1 argument for @t, got 0"},
      {"%o = corert.make_composite_op @t ~%a, %b = corert.execute_crt_op(%o) %t",
       "expected names for 1 result of corert.execute_crt_op, got 2"},
      {"%o = corert.make_composite_op @t %a = corert.execute_crt_op(%o) %t : ~2",
       "expected 1 result of corert.execute_crt_op, got 2"},
  };
  for (const Case& test : kCases) {
    const std::string text = WithFunctions(test.text);
    const Case whole[] = {{text, test.what}};
    ExpectErrors(whole);
  }
}

TEST(ProgramTextErrorTest, PR1_WrongSignatures) {
  const Case kCases[] = {
      {"%a, %b = corert.executeop(%h) \"op\"() : ~3", "expected 2 results of the op, as are named, got 3"},
      {"%a = corert.executeop(%h) \"op\"() : ~0", "expected 1 result of the op, as is named, got 0"},
      {"%a, %b = corert.executeop.seq(%h, %ch) \"op\"() : ~2", "expected 1 result of the op, as are named, got 2"},
      {"%a = tfrt.new.chain : ~0", "expected 1 result of tfrt.new.chain, got 0"},
      {"corert.executeop(%h) \"op\"() : ~65537", "expected a number of results from 0 to 65536, got '65537'"},
      {"~%a, %b = tfrt.new.chain", "expected names for 1 result of tfrt.new.chain, got 2"},
      {"tfrt.new.chain : ~f32", "expected a number of results or types, got 'f32'"},
      {"tfrt.merge.chains %ch : ~!corert.tensorhandle",
       "expected !tfrt.chain, the type of operand 0, got !corert.tensorhandle"},
      {"tfrt.merge.chains %ch : ~!tfrt.chain, !tfrt.chain", "expected types of 1 operand, got 2"},
      {"tfrt.merge.chains(%ch) : (!tfrt.chain) -> ~!corert.op",
       "expected !tfrt.chain, the type of result 0, got !corert.op"},
      {"tfrt.merge.chains(%ch) : (!tfrt.chain) -> ~()", "expected types of 1 result, got 0"},
      {"tfrt.merge.chains(%ch) : (!tfrt.chain ~-> !tfrt.chain", "expected ',' or ')', got '->'"},
  };
  ExpectErrorsInFunction(kCases);
}

TEST(ProgramTextErrorTest, PR1_WrongReturns) {
  const Case kCases[] = {
      {"func @f() -> !tfrt.chain { ~tfrt.return }", "expected 1 result of @f, got 0"},
      {"func @f(%a: !tfrt.chain) { tfrt.return ~%a }", "expected no results of @f, got 1"},
      {"func @f(%a: !tfrt.chain) -> !corert.op { tfrt.return ~%a }",
       "expected a value of type !corert.op for @f, got %a of type !tfrt.chain"},
      {"func @f(%a: !tfrt.chain) -> !tfrt.chain { tfrt.return %a : ~!corert.op }",
       "expected !tfrt.chain, the type of operand 0, got !corert.op"},
      {"func @f() { ~%a = tfrt.return }", "expected names for no results of tfrt.return, got 1"},
  };
  ExpectErrors(kCases);
}

TEST(ProgramTextErrorTest, PR1_WrongAttributes) {
  const Case kCases[] = {
      {"{~1 = 2}", "expected the name of an attribute, got '1'"},
      {"{a~}", "expected '=', got '}'"},
      {"{a = ~}", "expected the value of an attribute, got '}'"},
      {"{a = ~x}", "expected the value of an attribute, got 'x'"},
      {"{a = 1 ~b = 2}", "expected ',' or '}', got 'b'"},
      {"{a = 1, ~}", "expected the name of an attribute, got '}'"},
      {"{a = 1, b = 2, ~\"a\" = 3}", "expected each attribute once, got \"a\" again"},
      {"{a = 1 : ~i8}", "expected i32, i64, f32, f64 or bool, got 'i8'"},
      {"{a = 1 : ~string}", "expected i32, i64, f32, f64 or bool, got 'string'"},
      {"{a = true ~: bool}", "expected ',' or '}', got ':'"},
      {"{a = [~[1]]}", "expected an element that is no array, got '['"},
      {"{a = [1, ~true]}", "expected a number, got 'true'"},
      {"{a = [1, ~]}", "expected a number, got ']'"},
      {"{a = [1 ~2]}", "expected ',' or ']', got '2'"},
      {"{a = [true, ~\"x\"]}", "expected true or false, got '\"x\"'"},
      {"{a = [\"x\", ~1]}", "expected a string in quotes, got '1'"},
      {"{a = [f32, ~1]}", "expected a dtype, got '1'"},
      {"{a = [@f, ~f]}", "expected the name of a function, such as @name, got 'f'"},
      {"{a = [shape<>, ~[1]]}", "expected a shape such as shape<2x3> or shape<>, got '['"},
      {"{a = [dense<1> : tensor<i32>, ~1]}", "expected a tensor such as dense<[1, 2]> : tensor<2xi32>, got '1'"},
      {"{a = [{}, ~1]}", "expected '{', got '1'"},
      {"{a = [1 : i32, 2 : ~i64]}", "expected i32, got 'i64'"},
      {"{a = [1 : ~i32] : i64}", "expected i64, got 'i32'"},
      {"{a = [1] : ~dtype}", "expected i32, i64, f32, f64 or bool, got 'dtype'"},
      {"{a = [\"x\"] : ~dtype}", "expected string, got 'dtype'"},
      {"{a = [] : ~u8}", "expected the type of the elements of an attribute, got 'u8'"},
      {"{a = dense<~> : tensor<2xi32>}", "expected the elements of i32[2], got none"},
      {"{a = shape~[2]}", "expected a shape such as shape<2x3> or shape<>, got '['"},
      {"{a = shape<~2x>}", "expected a shape such as shape<2x3> or shape<>, got '2x'"},
      {"{a = shape<~2xf32>}", "expected a shape such as shape<2x3> or shape<>, got '2xf32'"},
      {"{a = shape<~9223372036854775808>}",
       "expected a shape such as shape<2x3> or shape<>, got '9223372036854775808'"},
      {"{a = shape<~1x1x1x1x1x1x1x1x1>}", "expected at most 8 dimensions, got '1x1x1x1x1x1x1x1x1'"},
      {"{a = shape<2~, 3>}", "expected '>', got ','"},
      {"{a = ~dense<1> : tensor<100000000xi32>}",
       "expected a text that stands for at most 4194304 bytes and 16 for each of its own, got more up to here"},
  };
  for (const Case& test : kCases) {
    const std::string text = "corert.executeop(%h) \"op\"() " + std::string(test.text);
    const Case whole[] = {{text, test.what}};
    ExpectErrorsInFunction(whole);
  }
}

TEST(ProgramTextErrorTest, PR1_WrongTensors) {
  const Case kCases[] = {
      {"dense~[1]", "expected '<' after dense, got '['"},
      {"dense<[1, 2] ~: tensor<2xi32>", "expected an element or '>', got ':'"},
      {"dense<1>\n~tfrt.return", "expected ':' and the type of the tensor, got 'tfrt.return'"},
      {"dense<1> : ~f32", "expected a type such as tensor<2x3xf32> or tensor<f32>, got 'f32'"},
      {"dense<1> : tensor<~2>", "expected a type such as tensor<2x3xf32> or tensor<f32>, got '2'"},
      {"dense<1> : tensor<~2x2y>", "expected a type such as tensor<2x3xf32> or tensor<f32>, got '2x2y'"},
      {"dense<1> : tensor<~>", "expected a type such as tensor<2x3xf32> or tensor<f32>, got '>'"},
      {"dense<1> : tensor<~-2xi32>", "dimension 0 of shape [-2] must not be negative"},
      {"dense<1> : tensor<~4611686018427387904x4xi8>",
       "shape [4611686018427387904,4] must have at most 2^63-1 elements"},
      {"dense<1> : tensor<~1x1x1x1x1x1x1x1x1xi32>", "expected at most 8 dimensions, got '1x1x1x1x1x1x1x1x1xi32'"},
      {"dense<~> : tensor<2xi32>", "expected the elements of i32[2], got none"},
      {"dense<[1, 2~]> : tensor<3xi32>", "expected 3 elements in dimension 0 of i32[3], got 2"},
      {"dense<[1, 2~, 3]> : tensor<2xi32>", "expected 2 elements in dimension 0 of i32[2], got more"},
      {"dense<[[1, 2], [3~]]> : tensor<2x2xi32>", "expected 2 elements in dimension 1 of i32[2,2], got 1"},
      {"dense<[[1, 2], ~3]> : tensor<2x2xi32>", "expected '[' as the shape has more dimensions, got '3'"},
      {"dense<[1, ~[2]]> : tensor<2xi32>", "expected a number, got '['"},
      {"dense<~[1]> : tensor<i32>", "expected one element, as the shape has no dimensions, got '['"},
      {"dense<[1 ~2]> : tensor<2xi32>", "expected ',' or ']', got '2'"},
      {"dense<1 ~2> : tensor<2xi32>", "expected '>', got '2'"},
      {"dense<[1, ~300]> : tensor<2xi8>", "expected -128 to 127 for i8, got 300"},
      {"dense<~-1> : tensor<u8>", "expected 0 to 255 for u8, got -1"},
      {"dense<~1.5> : tensor<i8>", "expected an integer for i8, got 1.5"},
      {"dense<~2> : tensor<bool>", "expected 0 to 1 for bool, got 2"},
      {"dense<~x> : tensor<bool>", "expected true or false, got 'x'"},
      {"dense<~true> : tensor<i8>", "expected a number, got 'true'"},
      {"dense<(1.0 ~2.0)> : tensor<c64>", "expected ',', got '2.0'"},
      {"dense<~x> : tensor<c64>", "expected a number or a complex number such as (1.0, -2.0), got 'x'"},
      {"dense<~1> : tensor<string>", "expected a string in quotes, got '1'"},
      {"dense<~\"00\"> : tensor<i8>", "expected \"0x...\", the bytes of all elements, got '\"00\"'"},
      {"dense<~\"0x00\\x30\"> : tensor<i8>", "expected \"0x...\", the bytes of all elements, got '\"0x00\\x30\"'"},
      {"dense<\"0x0~g\"> : tensor<i8>", "expected a hexadecimal digit"},
      {"dense<~\"0x000\"> : tensor<2xi8>", "expected 4 hexadecimal digits for i8[2], got 3"},
      {"dense<~\"0x00\"> : tensor<2xi8>", "expected 4 hexadecimal digits for i8[2], got 2"},
      {"dense<\"0x00~02\"> : tensor<2xbool>", "expected 00 or 01 for bool, got 02"},
  };
  for (const Case& test : kCases) {
    const std::string text = "%a = corert.const_dense_tensor " + std::string(test.text);
    const Case whole[] = {{text, test.what}};
    ExpectErrorsInFunction(whole);
  }
}

TEST(ProgramTextErrorTest, PR1_WrongCreations) {
  const Case kCases[] = {
      {"~{shape = [2]}", "expected shape and values, got no values"},
      {"~{values = [2]}", "expected shape and values, got no shape"},
      {"{~}", "expected shape, values or value, got '}'"},
      {"{~layout = 1}", "expected shape, values or value, got 'layout'"},
      {"{shape = [1], ~shape = [1]}", "expected one shape, got 'shape'"},
      {"{value = 1, ~values = [1]}", "expected one list of values, got 'values'"},
      {"{shape = ~2}", "expected a shape such as [2, 3] or shape<2x3>, got '2'"},
      {"{shape = [~2.0]}", "expected a dimension, got '2.0'"},
      {"{shape = [2 ~3]}", "expected ',' or ']', got '3'"},
      {"{shape = [2 : ~f32]}", "expected i64 or i32, got 'f32'"},
      {"{shape = ~[-2]}", "dimension 0 of shape [-2] must not be negative"},
      {"{shape = [1, 1, 1, 1, 1, 1, 1, 1, ~1]}", "expected at most 8 dimensions"},
      {"{shape = [2], values = ~[1, 2, 3]}", "expected 2 values for i8[2] or one for all, got 3"},
      {"{shape = [2], values = ~[]}", "expected 2 values for i8[2] or one for all, got 0"},
      {"{shape = [2], values = [1, ~300]}", "expected -128 to 127 for i8, got 300"},
      {"{shape = [2], values = [1 : ~i32]}", "expected i8, got 'i32'"},
      {"{shape = [2], values = [1] : ~i32}", "expected i8, got 'i32'"},
      {"{shape = [2] ~values = [1]}", "expected ',' or '}', got 'values'"},
  };
  for (const Case& test : kCases) {
    const std::string text = "%a = corert.create_dense_tensor.i8 " + std::string(test.text);
    const Case whole[] = {{text, test.what}};
    ExpectErrorsInFunction(whole);
  }
}

TEST(ProgramTextErrorTest, PR1_LimitsOfProgramsHold) {
  std::string text;
  for (size_t i = 0; i <= Program::kMaxFunctions; ++i) text += "func @f" + std::to_string(i) + "(){tfrt.return}\n";
  EXPECT_EQ(FirstLineOfError(text), "t.mlir:65537:6: expected at most 65536 functions, got more");
  text = "func @f(%a: !tfrt.chain) { tfrt.merge.chains";
  for (size_t i = 0; i < Program::kMaxOperands; ++i) text += " %a";
  EXPECT_TRUE(ReadText(text + " tfrt.return }"));
  const std::string place = std::to_string(text.size() + 2);
  EXPECT_EQ(FirstLineOfError(text + " %a tfrt.return }"),
            "t.mlir:1:" + place + ": expected at most 65536 operands, got more");
}

// A few characters must not make the reader take much memory.
TEST(ProgramTextErrorTest, PR1_ResultsThatAreOnlyCountedAreLimited) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "%r" + std::to_string(i) + ":60000 = corert.executeop(%h) \"op\"()\n";
  EXPECT_EQ(FirstLineOfError(InFunction(text)),
            "t.mlir:3:1: expected a text that stands for at most 4194304 bytes and 16 for each of its own, got more up "
            "to here");
  text.clear();
  for (int i = 0; i < 100; ++i) text += "corert.executeop(%h) \"op\"() : 60000\n";
  EXPECT_EQ(FirstLineOfError(InFunction(text)),
            "t.mlir:3:1: expected a text that stands for at most 4194304 bytes and 16 for each of its own, got more up "
            "to here");
  EXPECT_EQ(ErrorOf(InFunction("%" + std::string(1000, 'a') + ":1000 = corert.executeop(%h) \"op\"()")), "");
  EXPECT_NE(ErrorOf(InFunction("%" + std::string(1000, 'a') + ":10000 = corert.executeop(%h) \"op\"()")), "");
}

TEST(ProgramTextErrorTest, PR1_NestingOfAnyDepthIsAnError) {
  constexpr size_t kMany = 10'000'000;
  const std::string op = "func @f(%h: !corert.ophandler) { corert.executeop(%h) \"op\"";
  EXPECT_EQ(FirstLineOfError(op + std::string(kMany, '(')), "t.mlir:1:67: expected at most 8 brackets in one another");
  EXPECT_EQ(FirstLineOfError(op + "{a=" + std::string(kMany, '[')),
            "t.mlir:1:63: expected an element that is no array, got '['");
  EXPECT_EQ(FirstLineOfError(op + std::string(kMany, '{')), "t.mlir:1:60: expected the name of an attribute, got '{'");
  EXPECT_EQ(FirstLineOfError("func @f() { corert.const_dense_tensor dense<" + std::string(kMany, '[')),
            "t.mlir:1:10000045: expected an element or '>', got the end of the text");
  EXPECT_EQ(FirstLineOfError(std::string(kMany, '(')), "t.mlir:1:1: expected 'func', got '('");
  EXPECT_EQ(FirstLineOfError("func @f" + std::string(kMany, '(')),
            "t.mlir:1:9: expected a parameter such as %name : !corert.tensorhandle, got '('");
  std::string lists = op;
  for (int i = 0; i < 100'000; ++i) lists += "{a=";
  EXPECT_EQ(FirstLineOfError(lists), "t.mlir:1:251: expected lists of attributes in one another at most 64 deep");
}

// A line of ten million characters, of which errors and positions take one walk.
TEST(ProgramTextErrorTest, PR1_LinesOfAnyLengthAreRead) {
  std::string text = "func @f(%h: !corert.ophandler) { ";
  for (int i = 0; i < 200'000; ++i) text += "corert.executeop(%h) \"op\"() ";
  const std::string column = std::to_string(text.size() + 1);
  EXPECT_EQ(FirstLineOfError(text + "foo }"), "t.mlir:1:" + column + ": expected an instruction or '}', got 'foo'");
}

}  // namespace
}  // namespace tandem
