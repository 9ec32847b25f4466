// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelDialect: how a language that compilers of GPUs take says what the kernels' language says.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_DIALECT_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_DIALECT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::shader {

// A type in the other language: "float" with the extents {"4", "TILE_v"} is float[4][TILE_v] in C; an extent is empty
// where the array's length is that of its buffer.
struct KernelType {
  std::string base;
  std::vector<std::string> extents;
};

// All texts are of the other language, but for names of functions and built-in values, which are the kernels'. Names of
// variables and functions of a kernel have been made so that they are none of the other language's, by `Rename`.
class KernelDialect {
 public:
  virtual ~KernelDialect() = default;

  virtual std::string Rename(std::string_view name) const = 0;

  // ---- Types. Empty: there is no such scalar.
  virtual std::string_view Scalar(std::string_view name) const = 0;
  virtual std::string Vector(std::string_view scalar, char size) const = 0;
  // `float x[4]`.
  virtual std::string Declared(const KernelType& type, std::string_view name) const = 0;

  // ---- Expressions.
  // The other language's name of a built-in function; empty: there is no such function.
  virtual std::string_view Function(std::string_view name) const = 0;
  // A number's digits, without a letter at the end but `suffix`: 'i', 'u', 'f', 'h', 0, or, if there is the scalar f64,
  // 'd'.
  virtual std::string Number(std::string digits, char suffix) const = 0;
  virtual std::string Unary(std::string_view op, const std::string& operand) const = 0;
  virtual std::string Binary(std::string_view op, const std::string& left, const std::string& right,
                             bool right_is_number) const = 0;
  // `x.yz`.
  virtual std::string Component(const std::string& vector, std::string_view member) const = 0;
  // `type(arguments)`; without arguments it is zero. Where it is constant, the compiler must know the value.
  virtual std::string Made(const KernelType& type, const std::vector<std::string>& arguments, bool constant) const = 0;
  virtual std::string Bitcast(const KernelType& type, const std::string& value) const = 0;
  // What was at `place` before. `values` are as many as the function has in the kernels' language.
  virtual std::string Atomic(std::string_view name, const std::string& place,
                             const std::vector<std::string>& values) const = 0;
  // Empty: there is no such value.
  virtual std::string_view BuiltinValue(std::string_view name) const = 0;

  // ---- Statements, without a semicolon.
  // `left op right` with an op such as "+=".
  virtual std::string Assigned(std::string_view op, const std::string& left, const std::string& right,
                               bool right_is_number) const = 0;
  // A variable of a function without a value, which is zero.
  virtual std::string ZeroVariable(const KernelType& type, const std::string& name) const = 0;
  virtual std::string Variable(const KernelType& type, const std::string& name, const std::string& value,
                               bool is_constant) const = 0;

  // ---- Declarations, which the dialect keeps until the end.
  virtual void DeclareConstant(const KernelType& type, const std::string& name, const std::string& value) = 0;
  virtual void DeclareBuffer(const KernelType& type, const std::string& name, std::string_view binding,
                             bool is_written) = 0;
  virtual void DeclareShared(const KernelType& type, const std::string& name) = 0;
  struct Member {
    KernelType type;
    std::string name;
  };
  virtual void DeclareParameters(std::span<const Member> members, const std::string& struct_name,
                                 const std::string& name, std::string_view binding) = 0;
  virtual void DeclareFunction(const KernelType& result, const std::string& name, std::span<const Member> parameters,
                               const std::string& body) = 0;
  // `values`: those of its parameters, as statements with semicolons.
  virtual void DeclareMain(std::span<const std::string> workgroup_size, const std::string& values,
                           const std::string& body) = 0;
  // "f16" or "subgroups"; false if there is none.
  virtual bool Enable(std::string_view extension) = 0;
  // The line that the next declaration is in, for the compiler's messages.
  virtual void BeginDeclaration(int line) = 0;

  // The whole, once all is declared.
  virtual std::string Finish() = 0;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_DIALECT_H_
