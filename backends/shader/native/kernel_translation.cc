// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernel_translation.h"

#include <utility>
#include <vector>

#include "kernel_expressions.h"
#include "wgsl_tokens.h"

namespace tandem::shader {
namespace {

// What the attributes in front of a declaration say.
struct Attributes {
  std::string binding;
  std::string_view builtin;
  std::vector<std::string> workgroup_size;
};

class Translation {
 public:
  Translation(std::vector<Token> tokens, KernelDialect& dialect) : in_(std::move(tokens), dialect), dialect_(dialect) {}

  StatusOr<std::string> Run(const std::vector<Token>& tokens) {
    FindFunctions(tokens);
    while (!in_.AtEnd()) Declaration();
    if (!in_.status().ok()) return in_.status();
    if (!has_main_) return InvalidArgument("expected an entry point main, got none");
    return dialect_.Finish();
  }

 private:
  using Member = KernelDialect::Member;

  // Functions may be called above their declaration.
  void FindFunctions(const std::vector<Token>& tokens) {
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].text == "fn") in_.AddFunction(tokens[i + 1].text);
    }
  }

  void Declaration() {
    if (in_.Accept(";")) return;
    dialect_.BeginDeclaration(in_.token().line);
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
      if (dialect_.Enable(in_.token().text)) {
        in_.Accept(in_.token().text);
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

  // There is one, of the parameters; it is declared with their variable.
  void Struct() {
    struct_name_ = in_.ExpectName();
    in_.Expect("{");
    members_ = ReadMembers("}");
    in_.Expect("}");
  }

  // `name: type, ...`, up to `end`.
  std::vector<Member> ReadMembers(std::string_view end) {
    std::vector<Member> members;
    while (!in_.AtEnd() && !in_.Is(end)) {
      std::string name = in_.Rename(in_.ExpectName());
      members.push_back({ReadDeclaredType(), std::move(name)});
      if (!in_.Accept(",")) break;
    }
    return members;
  }

  void Constant() {
    const std::string name = in_.Rename(in_.ExpectName());
    const KernelType type = ReadDeclaredType();
    in_.Expect("=");
    dialect_.DeclareConstant(type, name, in_.ReadConstant());
    in_.Expect(";");
  }

  KernelType ReadDeclaredType() {
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
    bool is_written = false;
    if (in_.Accept(",")) {
      is_written = in_.Is("read_write");
      if (!in_.Accept("read_write")) in_.Expect("read");
    }
    in_.Expect(">");
    const std::string_view name = in_.ExpectName();
    if (space == "uniform") {
      Parameters(name, attributes);
    } else if (space == "storage") {
      dialect_.DeclareBuffer(ReadDeclaredType(), in_.Rename(name), attributes.binding, is_written);
    } else if (space == "workgroup") {
      dialect_.DeclareShared(ReadDeclaredType(), in_.Rename(name));
    } else {
      in_.Fail("a variable of storage, uniform or workgroup");
    }
    in_.Expect(";");
  }

  void Parameters(std::string_view name, const Attributes& attributes) {
    in_.SetParametersName(name);
    in_.Expect(":");
    if (in_.ExpectName() != struct_name_ || members_.empty()) in_.Fail("the struct of parameters above");
    dialect_.DeclareParameters(members_, in_.Rename(struct_name_), in_.Rename(name), attributes.binding);
  }

  void Function(const Attributes& attributes) {
    const std::string_view name = in_.ExpectName();
    const bool is_main = !attributes.workgroup_size.empty();
    if (is_main && name != "main") in_.Fail("the entry point to be called main");
    if (is_main) return Main(attributes);
    in_.Expect("(");
    const std::vector<Member> parameters = ReadMembers(")");
    in_.Expect(")");
    KernelType result{"void", {}};
    if (in_.Accept("->")) result = in_.ReadType();
    dialect_.DeclareFunction(result, in_.Rename(name), parameters, ReadBody());
  }

  void Main(const Attributes& attributes) {
    has_main_ = true;
    std::string values;
    in_.Expect("(");
    while (!in_.AtEnd() && !in_.Is(")")) {
      const Attributes place = ReadAttributes();
      const std::string name = in_.Rename(in_.ExpectName());
      const KernelType type = ReadDeclaredType();
      const std::string_view builtin = dialect_.BuiltinValue(place.builtin);
      if (builtin.empty()) in_.Fail("a built-in value of the kernels' language");
      values += dialect_.Variable(type, name, std::string(builtin), /*is_constant=*/false) + ";";
      if (!in_.Accept(",")) break;
    }
    in_.Expect(")");
    dialect_.DeclareMain(attributes.workgroup_size, values, ReadBody());
  }

  std::string ReadBody() {
    out_.clear();
    Block();
    return std::move(out_);
  }

  // The line of the next token, for the compiler's messages.
  void MarkLine() { out_ += "\n#line " + std::to_string(in_.token().line) + "\n"; }

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
    for (const std::string_view op : {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}) {
      if (!in_.Accept(op)) continue;
      const bool is_number = in_.token().kind == Token::Kind::kNumber && in_.Next().text == ";";
      out_ += dialect_.Assigned(op, left, in_.ReadExpression(), is_number);
      return;
    }
    if (left.empty() || left.back() != ')') return in_.Fail("a statement");
    out_ += left;
  }

  void LocalVariable() {
    const bool is_constant = in_.Is("const");
    in_.Accept(in_.token().text);
    const std::string name = in_.Rename(in_.ExpectName());
    const KernelType type = ReadDeclaredType();
    if (in_.Accept("=")) {
      out_ += dialect_.Variable(type, name, is_constant ? in_.ReadConstant() : in_.ReadExpression(), is_constant);
    } else {
      out_ += dialect_.ZeroVariable(type, name);
    }
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

  KernelExpressions in_;
  KernelDialect& dialect_;
  std::string out_;  // of the function that is read
  bool has_main_ = false;
  std::string_view struct_name_;
  std::vector<Member> members_;
};

}  // namespace

StatusOr<std::string> TranslateKernel(std::string_view wgsl, KernelDialect& dialect) {
  TANDEM_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokens(wgsl));
  return Translation(tokens, dialect).Run(tokens);
}

}  // namespace tandem::shader
