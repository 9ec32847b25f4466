// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Names in the kernels' texts are free in WGSL, which other languages that these are translated to do not look at.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::shader {
namespace {

// WebGPU Shading Language, "Keyword Summary" (https://www.w3.org/TR/WGSL/#keyword-summary).
constexpr std::string_view kKeywords =
    " alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if "
    "let "
    "loop override requires return struct switch true var while ";
// The same, "Reserved Words" (https://www.w3.org/TR/WGSL/#reserved-words): nothing may have these names.
constexpr std::string_view kReserved =
    " NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class "
    "co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval "
    "constexpr constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export "
    "extends extern external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl "
    "implements import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module move "
    "mut "
    "mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr "
    "of "
    "operator package packoffset partition pass patch pixelfragment precise precision premerge priv protected pub "
    "public "
    "readonly ref regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm "
    "static static_assert static_cast std subroutine super target template this thread_local throw trait try type "
    "typedef "
    "typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with "
    "writeonly yield ";
// Keywords that a name follows.
constexpr std::string_view kDeclaring = " alias const fn let override struct var ";

bool IsIn(std::string_view words, std::string_view word) {
  return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool IsNamePart(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Names, other characters by themselves, and no comments, spaces or lines such as "#if NAME".
std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text.substr(i, 2) == "//" || text[i] == '#') {
      end = std::min(text.find('\n', i), text.size());
    } else if (IsNamePart(text[i])) {
      while (end < text.size() && IsNamePart(text[end])) ++end;
      words.push_back(text.substr(i, end - i));
    } else if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      words.push_back(text.substr(i, 1));
    }
    i = end;
  }
  return words;
}

// The names of a text that are not free, each once.
std::string TakenNames(std::string_view text) {
  const std::vector<std::string_view> words = WordsOf(text);
  std::string taken = " ";
  for (size_t i = 0; i < words.size(); ++i) {
    const bool is_declared = i > 0 && IsIn(kDeclaring, words[i - 1]);
    // Of a variable, a parameter or a member; "default:" is a case.
    const bool has_type = i + 1 < words.size() && words[i + 1] == ":" && words[i] != "default";
    const bool is_taken = IsIn(kReserved, words[i]) || (IsIn(kKeywords, words[i]) && (is_declared || has_type));
    if (is_taken && !IsIn(taken, words[i])) taken.append(words[i]).append(" ");
  }
  return taken == " " ? "" : taken.substr(1, taken.size() - 2);
}

// Literals of C++ that are a name, such as that of a parameter, or statements or declarations; not those of messages.
std::string LiteralsOf(std::string_view source) {
  std::string texts;
  for (size_t i = 0; i < source.size();) {
    std::string literal;
    size_t end = i + 1;
    if (source.substr(i, 2) == "//" || source.substr(i, 8) == "#include") {
      end = std::min(source.find('\n', i), source.size());
    } else if (source.substr(i, 3) == "R\"(") {
      end = std::min(source.find(")\"", i), source.size() - 2);
      literal = source.substr(i + 3, end - i - 3);
      end += 2;
    } else if (source[i] == '"') {
      for (; end < source.size() && source[end] != '"'; ++end) {
        const bool is_escape = source[end] == '\\';
        literal += is_escape ? '\n' : source[end];
        end += is_escape ? 1 : 0;
      }
      ++end;
    }
    const bool is_text = literal.find_first_of(";{}=") != std::string::npos;
    if (is_text || std::ranges::all_of(literal, &IsNamePart)) texts.append(literal).append("\n");
    i = end;
  }
  return texts;
}

#ifndef __EMSCRIPTEN__  // the files are the same in each build

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(KernelNamesTest, AreFreeInWgsl) {
  size_t num_texts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TANDEM_SHADER_KERNELS)) {
    const std::filesystem::path& path = entry.path();
    const bool is_text = path.extension() == ".wgsl";
    if (!is_text && path.extension() != ".cc" && path.extension() != ".h") continue;
    num_texts += is_text ? 1 : 0;
    const std::string content = ReadFile(path);
    ASSERT_NE(content, "") << path;
    EXPECT_EQ(TakenNames(is_text ? content : LiteralsOf(content)), "") << path;
  }
  EXPECT_GT(num_texts, 50u);
}

#endif  // __EMSCRIPTEN__

TEST(KernelNamesTest, FindsThoseThatAreNot) {
  EXPECT_EQ(TakenNames("let from: u32 = i; y[from + 1u] = x[from];"), "from");
  EXPECT_EQ(TakenNames("fn of(filter: u32) -> u32 { return filter; }"), "of filter");
  EXPECT_EQ(TakenNames("fn main(gid: vec3u) { y[gid.x] = parameters.target; }"), "target");
  EXPECT_EQ(TakenNames("var loop: u32 = 0u; const default: u32 = 1u; struct S { fn: u32, }"), "loop default fn");
  EXPECT_EQ(TakenNames("// from here\n#if with\nlet from_top: u32 = 1u;\nswitch (i) { default: { break; } }"), "");
  EXPECT_EQ(TakenNames(LiteralsOf(R"cc(builder.Parameter("pass");
                                       return "fn f() -> u32 {\nreturn set; }";)cc")),
            "pass set");
  EXPECT_EQ(TakenNames(LiteralsOf("constexpr char kText[] = R\"(\nlet null: u32 = 0u;)\";")), "null");
  EXPECT_EQ(TakenNames(LiteralsOf(R"cc(#include "filter"  // "from"
                                       return InvalidArgument("one of these, got ", x);)cc")),
            "");
}

}  // namespace
}  // namespace tandem::shader
