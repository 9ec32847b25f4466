// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "glsl_text.h"

#include <utility>
#include <vector>

#include "glsl_expression.h"
#include "glsl_prelude.h"
#include "wgsl_tokens.h"

namespace tandem::vulkan {
namespace {

// What the attributes in front of a declaration say.
struct Attributes {
  std::string binding;
  std::string builtin;
  std::vector<std::string> workgroup_size;
};

struct Builtin {
  std::string_view wgsl;
  std::string_view glsl;
};
constexpr Builtin kBuiltins[] = {
    {"global_invocation_id", "gl_GlobalInvocationID"},
    {"local_invocation_id", "gl_LocalInvocationID"},
    {"workgroup_id", "gl_WorkGroupID"},
    {"num_workgroups", "gl_NumWorkGroups"},
    {"local_invocation_index", "gl_LocalInvocationIndex"},
    {"subgroup_invocation_id", "gl_SubgroupInvocationID"},
    {"subgroup_size", "gl_SubgroupSize"},
};

class Translation {
 public:
  Translation(std::vector<Token> tokens, ParameterPlace place) : in_(std::move(tokens)), place_(place) {}

  StatusOr<std::string> Run(const std::vector<Token>& tokens) {
    FindFunctions(tokens);
    while (!in_.AtEnd()) Declaration();
    if (!in_.status().ok()) return in_.status();
    if (!has_main_) return InvalidArgument("expected an entry point main, got none");
    return Head() + prototypes_ + out_;
  }

 private:
  // Functions may be called above their declaration.
  void FindFunctions(const std::vector<Token>& tokens) {
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].text == "fn") in_.AddFunction(tokens[i + 1].text);
    }
  }

  std::string Head() const {
    std::string text = "#version 450\n";
    if (f16_) {
      text +=
          "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
          "#extension GL_EXT_shader_16bit_storage : require\n";
    }
    if (subgroups_) {
      for (const char* part : {"basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative"}) {
        text += std::string("#extension GL_KHR_shader_subgroup_") + part + " : require\n";
      }
    }
    text += kGlslPrelude;
    if (f16_) text += kGlslPreludeF16;
    return text;
  }

  // The line of the next token, for the compiler's messages.
  void MarkLine() { out_ += "\n#line " + std::to_string(in_.token().line) + "\n"; }

  void Declaration() {
    if (in_.Accept(";")) return;
    MarkLine();
    if (in_.Is("enable")) return Enable();
    if (in_.Accept("diagnostic")) return Skip();
    if (in_.Accept("alias")) return Alias();
    if (in_.Accept("struct")) return Struct();
    if (in_.Accept("const")) return Constant();
    const Attributes attributes = ReadAttributes();
    if (in_.Accept("var")) return Variable(attributes);
    if (in_.Accept("fn")) return Function(attributes);
    in_.Fail("a declaration");
  }

  void Skip() {
    while (!in_.AtEnd() && !in_.Is(";")) in_.Accept(in_.token().text);
    in_.Expect(";");
  }

  void Enable() {
    in_.Expect("enable");
    do {
      if (in_.Accept("f16")) {
        f16_ = true;
      } else if (in_.Accept("subgroups")) {
        subgroups_ = true;
      } else {
        in_.Fail("f16 or subgroups");
      }
    } while (in_.Accept(","));
    in_.Expect(";");
  }

  void Alias() {
    const std::string_view name = in_.ExpectName();
    in_.Expect("=");
    in_.AddAlias(name, in_.ReadType());
    in_.Expect(";");
  }

  // There is one, of the parameters; it becomes a block where the variable is declared.
  void Struct() {
    struct_name_ = in_.ExpectName();
    in_.Expect("{");
    while (!in_.AtEnd() && !in_.Is("}")) {
      const std::string_view name = in_.ExpectName();
      in_.Expect(":");
      const GlslType type = in_.ReadType();
      members_ += " " + type.base + " " + GlslExpressions::Rename(name) + type.Extents() + ";";
      if (!in_.Accept(",")) break;
    }
    in_.Expect("}");
  }

  void Constant() {
    const std::string name = GlslExpressions::Rename(in_.ExpectName());
    const GlslType type = ReadDeclaredType();
    in_.Expect("=");
    out_ += "const " + type.base + " " + name + type.Extents() + " = " + in_.ReadConstant() + ";";
    in_.Expect(";");
  }

  GlslType ReadDeclaredType() {
    if (in_.Accept(":")) return in_.ReadType();
    in_.Fail("a type, as in `name: f32`");
    return {};
  }

  Attributes ReadAttributes() {
    Attributes attributes;
    while (in_.Accept("@")) {
      const std::string_view name = in_.ExpectName();
      if (name == "compute") continue;
      if (name == "builtin") {
        in_.Expect("(");
        attributes.builtin = in_.ExpectName();
        in_.Expect(")");
      } else if (name == "workgroup_size") {
        attributes.workgroup_size = in_.ReadArguments();
      } else if (name == "group" || name == "binding") {
        const std::vector<std::string> values = in_.ReadArguments();
        if (values.size() != 1 || (name == "group" && values[0] != "0")) in_.Fail("a binding of group 0");
        if (name == "binding" && values.size() == 1) attributes.binding = values[0];
      } else {
        in_.Fail("an attribute of the kernels' language");
      }
    }
    return attributes;
  }

  void Variable(const Attributes& attributes) {
    in_.Expect("<");
    const std::string_view space = in_.ExpectName();
    bool writes = false;
    if (in_.Accept(",")) {
      writes = in_.Is("read_write");
      if (!in_.Accept("read_write")) in_.Expect("read");
    }
    in_.Expect(">");
    const std::string_view name = in_.ExpectName();
    if (space == "uniform") {
      Parameters(name, attributes);
    } else if (space == "storage") {
      const GlslType type = ReadDeclaredType();
      const std::string renamed = GlslExpressions::Rename(name);
      out_ += "layout(std430, set = 0, binding = " + attributes.binding + ") restrict " + (writes ? "" : "readonly ") +
              "buffer " + renamed + "_buffer { " + type.base + " " + renamed + type.Extents() + "; };";
    } else if (space == "workgroup") {
      const GlslType type = ReadDeclaredType();
      out_ += "shared " + type.base + " " + GlslExpressions::Rename(name) + type.Extents() + ";";
    } else {
      in_.Fail("a variable of storage, uniform or workgroup");
    }
    in_.Expect(";");
  }

  void Parameters(std::string_view name, const Attributes& attributes) {
    in_.SetParametersName(name);
    in_.Expect(":");
    if (in_.ExpectName() != struct_name_ || members_.empty()) in_.Fail("the struct of parameters above");
    const std::string layout = place_ == ParameterPlace::kPushConstants
                                   ? std::string("push_constant")
                                   : "std140, set = 0, binding = " + attributes.binding;
    out_ += "layout(" + layout + ") uniform " + GlslExpressions::Rename(struct_name_) + " {" + members_ + " } " +
            GlslExpressions::Rename(name) + ";";
  }

  void Function(const Attributes& attributes) {
    const std::string_view name = in_.ExpectName();
    const bool is_main = !attributes.workgroup_size.empty();
    if (is_main && name != "main") in_.Fail("the entry point to be called main");
    if (is_main) return Main(attributes);
    std::string head = GlslExpressions::Rename(name) + "(";
    in_.Expect("(");
    while (!in_.AtEnd() && !in_.Is(")")) {
      const std::string parameter = GlslExpressions::Rename(in_.ExpectName());
      const GlslType type = ReadDeclaredType();
      head += (head.back() == '(' ? "" : ", ") + type.base + " " + parameter + type.Extents();
      if (!in_.Accept(",")) break;
    }
    in_.Expect(")");
    head += ")";
    GlslType result{"void", {}};
    if (in_.Accept("->")) result = in_.ReadType();
    head = result.base + result.Extents() + " " + head;
    prototypes_ += head + ";\n";
    out_ += head + " ";
    Block();
  }

  void Main(const Attributes& attributes) {
    has_main_ = true;
    out_ += "layout(";
    for (size_t i = 0; i < attributes.workgroup_size.size() && i < 3; ++i) {
      out_ += (i == 0 ? "" : ", ") + std::string("local_size_") + "xyz"[i] + " = " + attributes.workgroup_size[i];
    }
    out_ += ") in;";
    std::string places;
    in_.Expect("(");
    while (!in_.AtEnd() && !in_.Is(")")) {
      const Attributes place = ReadAttributes();
      const std::string name = GlslExpressions::Rename(in_.ExpectName());
      const GlslType type = ReadDeclaredType();
      std::string_view builtin;
      for (const Builtin& known : kBuiltins) {
        if (known.wgsl == place.builtin) builtin = known.glsl;
      }
      if (builtin.empty()) in_.Fail("a built-in value of the kernels' language");
      places += type.base + " " + name + " = " + std::string(builtin) + ";";
      if (!in_.Accept(",")) break;
    }
    in_.Expect(")");
    out_ += "\nvoid main() {" + places;
    Block();
    out_ += "}\n";
  }

  void Block() {
    if (in_.Enter("blocks")) {
      in_.Expect("{");
      out_ += "{";
      while (!in_.AtEnd() && !in_.Is("}")) Statement();
      in_.Expect("}");
      out_ += "}";
    }
    in_.Leave();
  }

  void Statement() {
    if (in_.Accept(";")) return;
    MarkLine();
    if (in_.Is("{")) return Block();
    if (in_.Accept("if")) return If();
    if (in_.Accept("for")) return For();
    if (in_.Accept("switch")) return Switch();
    if (in_.Accept("while")) {
      out_ += "while (" + in_.ReadExpression() + ") ";
      return Block();
    }
    for (const std::string_view word : {"break", "continue"}) {
      if (!in_.Accept(word)) continue;
      out_ += std::string(word) + ";";
      return in_.Expect(";");
    }
    if (in_.Accept("return")) {
      out_ += in_.Is(";") ? "return" : "return " + in_.ReadExpression();
    } else {
      SimpleStatement();
    }
    out_ += ";";
    in_.Expect(";");
  }

  // What may also stand in the head of a loop: a declaration, an assignment or a call, without its semicolon.
  void SimpleStatement() {
    if (in_.Is("let") || in_.Is("var") || in_.Is("const")) return LocalVariable();
    const bool is_phony = in_.Accept("_");
    const std::string left = is_phony ? std::string() : in_.ReadExpression();
    if (!is_phony && (in_.Is("++") || in_.Is("--"))) {
      out_ += left + std::string(in_.token().text);
      in_.Accept(in_.token().text);
      return;
    }
    if (in_.Accept("=")) {
      out_ += (is_phony ? std::string() : left + " = ") + in_.ReadExpression();
      return;
    }
    if (in_.Accept("%=")) {
      out_ += left + " = w_mod(" + left + ", " + in_.ReadExpression() + ")";
      return;
    }
    for (const std::string_view op : {"<<=", ">>="}) {
      if (!in_.Accept(op)) continue;
      out_ += left + " " + std::string(op) + " (" + in_.ReadExpression() + " & 31u)";
      return;
    }
    for (const std::string_view op : {"+=", "-=", "*=", "/=", "&=", "|=", "^="}) {
      if (!in_.Accept(op)) continue;
      out_ += left + " " + std::string(op) + " " + in_.ReadExpression();
      return;
    }
    if (left.empty() || left.back() != ')') return in_.Fail("a statement");
    out_ += left;
  }

  void LocalVariable() {
    const bool is_constant = in_.Is("const");
    in_.Accept(in_.token().text);
    const std::string name = GlslExpressions::Rename(in_.ExpectName());
    const GlslType type = ReadDeclaredType();
    out_ += (is_constant ? "const " : "") + type.base + " " + name + type.Extents();
    if (in_.Accept("=")) {
      out_ += " = " + (is_constant ? in_.ReadConstant() : in_.ReadExpression());
    } else if (type.extents.empty()) {
      out_ += " = " + type.base + "(" + (type.base == "bool" ? "false" : "0") + ")";
    } else {
      FillWithZeros(name, type);
    }
  }

  // An array without a value is zero.
  void FillWithZeros(const std::string& name, const GlslType& type) {
    out_ += ";";
    std::string element = name;
    for (size_t i = 0; i < type.extents.size(); ++i) {
      const std::string index = "w_i" + std::to_string(i);
      out_ += "for (int " + index + " = 0; " + index + " < int(" + type.extents[i] + "); ++" + index + ") ";
      element += "[" + index + "]";
    }
    out_ += element + " = " + type.base + "(" + (type.base == "bool" ? "false" : "0") + ")";
  }

  void If() {
    out_ += "if (" + in_.ReadExpression() + ") ";
    Block();
    if (!in_.Accept("else")) return;
    out_ += " else ";
    if (!in_.Accept("if")) return Block();
    if (in_.Enter("blocks")) If();
    in_.Leave();
  }

  void For() {
    in_.Expect("(");
    out_ += "for (";
    if (!in_.Is(";")) SimpleStatement();
    in_.Expect(";");
    out_ += "; ";
    if (!in_.Is(";")) out_ += in_.ReadExpression();
    in_.Expect(";");
    out_ += "; ";
    if (!in_.Is(")")) SimpleStatement();
    in_.Expect(")");
    out_ += ") ";
    Block();
  }

  void Switch() {
    out_ += "switch (" + in_.ReadExpression() + ") {";
    in_.Expect("{");
    while (!in_.AtEnd() && !in_.Is("}")) {
      MarkLine();
      if (in_.Accept("case")) {
        do {
          out_ += in_.Accept("default") ? std::string("default: ") : "case " + in_.ReadConstant() + ": ";
        } while (in_.Accept(",") && !in_.Is(":") && !in_.Is("{"));
      } else {
        in_.Expect("default");
        out_ += "default: ";
      }
      in_.Accept(":");
      Block();
      out_ += " break;";
    }
    in_.Expect("}");
    out_ += "}";
  }

  GlslExpressions in_;
  const ParameterPlace place_;
  std::string out_;
  std::string prototypes_;
  bool f16_ = false;
  bool subgroups_ = false;
  bool has_main_ = false;
  std::string_view struct_name_;
  std::string members_;
};

}  // namespace

StatusOr<std::string> TranslateToGlsl(std::string_view wgsl, ParameterPlace parameters) {
  TANDEM_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokens(wgsl));
  return Translation(tokens, parameters).Run(tokens);
}

}  // namespace tandem::vulkan
