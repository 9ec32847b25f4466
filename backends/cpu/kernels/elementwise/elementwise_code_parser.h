// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The translation of ElementExpressions to ElementCode, for use while a program is compiled.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_PARSER_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_PARSER_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kernels/elementwise/elementwise_code_ops.h"

namespace tandem::cpu::element_code {

// Numbers of WebAssembly's SIMD instructions.
enum Instruction : uint8_t {
  kI32Eq = 0x37,
  kI32Ne = 0x38,
  kI32LtS = 0x39,
  kI32LtU = 0x3a,
  kI32GtS = 0x3b,
  kI32GtU = 0x3c,
  kI32LeS = 0x3d,
  kI32LeU = 0x3e,
  kI32GeS = 0x3f,
  kI32GeU = 0x40,
  kF32Eq = 0x41,
  kF32Ne = 0x42,
  kF32Lt = 0x43,
  kF32Gt = 0x44,
  kF32Le = 0x45,
  kF32Ge = 0x46,
  kNot = 0x4d,
  kAnd = 0x4e,
  kAndNot = 0x4f,  // of x and y: x without the bits of y
  kOr = 0x50,
  kXor = 0x51,
  kBitSelect = 0x52,  // of x, y and a mask: x where it is set
  kF32Ceil = 0x67,
  kF32Floor = 0x68,
  kF32Nearest = 0x6a,
  kI32Neg = 0xa1,
  kI32Add = 0xae,
  kI32Sub = 0xb1,
  kI32Mul = 0xb5,
  kI32MinS = 0xb6,
  kI32MinU = 0xb7,
  kI32MaxS = 0xb8,
  kI32MaxU = 0xb9,
  kF32Sqrt = 0xe3,
  kF32Add = 0xe4,
  kF32Sub = 0xe5,
  kF32Mul = 0xe6,
  kF32Div = 0xe7,
  kF32PMin = 0xea,  // of x and y: y if y < x, else x
  kF32PMax = 0xeb,  // y if x < y, else x
  kF32FromI32 = 0xfa,
  kF32FromU32 = 0xfb,
};

// Of a value on the stack: a mask has all bits of an element set or none; a literal is an integer of either sign.
enum class Type : uint8_t { kF32, kI32, kU32, kMask, kLiteral };

struct Code {
  std::array<uint8_t, 48> instructions = {};
  size_t size = 0;
  Type type = Type::kF32;
  bool is_valid = true;  // false: there is something that has no instruction, or no room

  constexpr void Push(uint8_t instruction) {
    if (size == instructions.size()) is_valid = false;
    if (is_valid) instructions[size++] = instruction;
  }
  constexpr void Push(const Code& code) {
    is_valid = is_valid && code.is_valid;
    for (size_t i = 0; i < code.size; ++i) Push(code.instructions[i]);
  }
};

// The constants of all expressions.
struct Constants {
  std::array<uint32_t, kEndOfConstants - kFirstConstant> bits = {};
  size_t size = 0;

  // Its instruction; 0 if there is no room.
  constexpr uint8_t Add(uint32_t value) {
    size_t i = 0;
    while (i < size && bits[i] != value) ++i;
    if (i == bits.size()) return 0;
    if (i == size) bits[size++] = value;
    return static_cast<uint8_t>(kFirstConstant + i);
  }
};

// The functions of elementary.wgsl that vectors have instructions for, as the rows compute them. pmin and pmax are
// WebAssembly's; without(x, mask) is 0 where the mask is set, else x; here bits may be taken of numbers and masks
// alike.
struct Function {
  std::string_view name;
  std::string_view text;
};
inline constexpr Function kFunctions[] = {
    {"is_nan", "a != a"},
    {"is_infinite", "abs(a) == infinity"},
    {"is_finite", "abs(a) < infinity"},
    {"is_zero", "a == 0.0"},
    {"relu", "without(a, a <= 0.0)"},
    // All bits set are a NaN.
    {"maximum", "pmax(b, a) | (a != a)"},
    {"minimum", "pmin(b, a) | (a != a)"},
    {"clip", "pmax(pmin(a, c) | (c != c), b) | (b != b)"},
    {"sign_of", "((a > 0.0) & 1.0) - ((a < 0.0) & 1.0) | (a != a)"},
    {"softsign", "pmin(pmax(a, lowest), largest) / (1.0 + abs(pmin(pmax(a, lowest), largest)))"},
};

// One expression.
class Parser {
 public:
  constexpr Parser(std::string_view text, Type operands, Constants& constants)
      : text_(text), operands_(operands), constants_(constants) {}

  constexpr Code Parse() {
    Code code = Either();
    if (at_ != text_.size()) code.is_valid = false;
    return code;
  }

 private:
  static constexpr bool IsNameCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }
  constexpr bool Accept(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return true;
  }
  constexpr std::string_view Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameCharacter(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    Accept("");
    return name;
  }
  static constexpr Code Invalid() {
    Code code;
    code.is_valid = false;
    return code;
  }

  static constexpr Code Binary(Code x, const Code& y, uint8_t instruction, Type type) {
    x.Push(y);
    x.Push(instruction);
    x.type = type;
    return x;
  }
  static constexpr Type TypeOf(const Code& x, const Code& y) { return x.type == Type::kLiteral ? y.type : x.type; }
  // Of numbers; 0 where there is none.
  static constexpr Code Arithmetic(const Code& x, const Code& y, uint8_t of_floats, uint8_t of_integers) {
    const Type type = TypeOf(x, y);
    const uint8_t instruction = type == Type::kF32 ? of_floats : of_integers;
    return type == Type::kMask || instruction == 0 ? Invalid() : Binary(x, y, instruction, type);
  }
  static constexpr Code Comparison(const Code& x, const Code& y, uint8_t of_floats, uint8_t of_signed,
                                   uint8_t of_unsigned) {
    const Type type = TypeOf(x, y);
    if (type == Type::kMask) return Invalid();
    return Binary(x, y, type == Type::kF32 ? of_floats : type == Type::kU32 ? of_unsigned : of_signed, Type::kMask);
  }

  constexpr Code Either() {
    Code x = Bits();
    for (;;) {
      if (Accept("&&")) {
        x = Binary(x, Bits(), kAnd, Type::kMask);
      } else if (Accept("||")) {
        x = Binary(x, Bits(), kOr, Type::kMask);
      } else {
        return x;
      }
    }
  }
  constexpr Code Bits() {
    Code x = Compared();
    for (;;) {
      if (text_.substr(at_).starts_with("&&") || text_.substr(at_).starts_with("||")) return x;
      const uint8_t instruction = Accept("&") ? kAnd : Accept("|") ? kOr : Accept("^") ? kXor : 0;
      if (instruction == 0) return x;
      const Code y = Compared();
      const Type type = x.type == Type::kMask ? y.type : TypeOf(x, y);
      x = Binary(x, y, instruction, type);
    }
  }
  constexpr Code Compared() {
    const Code x = Sum();
    // Shifts of vectors are by one number for all.
    if (Accept("<<") || Accept(">>")) return Invalid();
    if (Accept("==")) return Comparison(x, Sum(), kF32Eq, kI32Eq, kI32Eq);
    if (Accept("!=")) return Comparison(x, Sum(), kF32Ne, kI32Ne, kI32Ne);
    if (Accept("<=")) return Comparison(x, Sum(), kF32Le, kI32LeS, kI32LeU);
    if (Accept(">=")) return Comparison(x, Sum(), kF32Ge, kI32GeS, kI32GeU);
    if (Accept("<")) return Comparison(x, Sum(), kF32Lt, kI32LtS, kI32LtU);
    if (Accept(">")) return Comparison(x, Sum(), kF32Gt, kI32GtS, kI32GtU);
    return x;
  }
  constexpr Code Sum() {
    Code x = Product();
    for (;;) {
      if (Accept("+")) {
        x = Arithmetic(x, Product(), kF32Add, kI32Add);
      } else if (Accept("-")) {
        x = Arithmetic(x, Product(), kF32Sub, kI32Sub);
      } else {
        return x;
      }
    }
  }
  constexpr Code Product() {
    Code x = Single();
    for (;;) {
      if (Accept("*")) {
        x = Arithmetic(x, Single(), kF32Mul, kI32Mul);
      } else if (Accept("/")) {
        x = Arithmetic(x, Single(), kF32Div, 0);
      } else if (Accept("%")) {
        return Invalid();
      } else {
        return x;
      }
    }
  }
  constexpr Code Unary(Code x, uint8_t instruction, Type type) {
    x.Push(instruction);
    x.type = type;
    return x;
  }
  constexpr Code Single() {
    if (Accept("-")) {
      const Code x = Single();
      return x.type == Type::kF32 ? WithBits(x, kXor, 0x80000000) : Invalid();
    }
    if (Accept("~")) {
      const Code x = Single();
      return Unary(x, kNot, x.type);
    }
    if (Accept("(")) {
      const Code x = Either();
      return Accept(")") ? x : Invalid();
    }
    const std::string_view name = Name();
    if (name.empty()) return Invalid();
    if (name[0] >= '0' && name[0] <= '9') return Number(name);
    if (Accept("(")) return Call(name);
    if (name == "alpha") return Pushed(kParameter, Type::kF32);
    if (name == "infinity") return Constant(std::numeric_limits<float>::infinity());
    if (name == "largest") return Constant(std::numeric_limits<float>::max());
    if (name == "lowest") return Constant(std::numeric_limits<float>::lowest());
    if (name.size() != 1 || name[0] < 'a' || name[0] > 'c') return Invalid();
    return Pushed(static_cast<uint8_t>(kFirstOperand + (names_[static_cast<size_t>(name[0] - 'a')] - 'a')), operands_);
  }

  static constexpr Code Pushed(uint8_t instruction, Type type) {
    Code code;
    code.Push(instruction);
    code.type = type;
    return code;
  }
  constexpr Code Constant(uint32_t bits, Type type) {
    const uint8_t instruction = constants_.Add(bits);
    return instruction == 0 ? Invalid() : Pushed(instruction, type);
  }
  constexpr Code Constant(float value) { return Constant(std::bit_cast<uint32_t>(value), Type::kF32); }
  // Of so few digits that the quotient of two integers is the nearest double, and that f32 is nowhere near the middle
  // between two.
  constexpr Code Number(std::string_view digits) {
    const bool is_unsigned = digits.ends_with('u');
    if (is_unsigned) digits.remove_suffix(1);
    double value = 0;
    double scale = 0;
    for (const char c : digits) {
      if (c == '.') {
        scale = 1;
        continue;
      }
      if (c < '0' || c > '9') return Invalid();
      value = 10 * value + (c - '0');
      scale *= 10;
    }
    if (scale != 0) return Constant(static_cast<float>(value / scale));
    return Constant(static_cast<uint32_t>(value), is_unsigned ? Type::kU32 : Type::kLiteral);
  }

  // Behind the opening parenthesis.
  constexpr Code Call(std::string_view name) {
    const size_t begin = at_;
    std::array<Code, 3> args;
    size_t count = 0;
    do {
      if (count == args.size()) return Invalid();
      args[count++] = Either();
    } while (Accept(","));
    if (!Accept(")")) return Invalid();
    if (count == 1) return CallOfOne(name, args[0], begin);
    if (name == "select" && count == 3) {
      Code code = args[1];
      code.Push(args[0]);
      code = Binary(code, args[2], kBitSelect, TypeOf(args[0], args[1]));
      if (args[2].type != Type::kMask) code.is_valid = false;
      return code;
    }
    if (name == "clamp" && count == 3) return Least(Greatest(args[0], args[1]), args[2]);
    if (name == "max") return Greatest(args[0], args[1]);
    if (name == "min") return Least(args[0], args[1]);
    if (name == "pmax") return Binary(args[0], args[1], kF32PMax, Type::kF32);
    if (name == "without") return Binary(args[0], args[1], kAndNot, args[0].type);
    if (name == "pmin") return Binary(args[0], args[1], kF32PMin, Type::kF32);
    return Expanded(name, begin);
  }
  constexpr Code CallOfOne(std::string_view name, const Code& x, size_t begin) {
    if (name == "u32" || name == "i32") {
      const Type type = name == "u32" ? Type::kU32 : Type::kI32;
      if (x.type == Type::kMask) return Unary(x, kI32Neg, type);
      return x.type == Type::kF32 ? Invalid() : Retyped(x, type);
    }
    if (x.type == Type::kF32) {
      if (name == "abs") return WithBits(x, kAnd, 0x7fffffff);
      const uint8_t instruction = name == "sqrt"    ? kF32Sqrt
                                  : name == "floor" ? kF32Floor
                                  : name == "ceil"  ? kF32Ceil
                                  : name == "round" ? kF32Nearest
                                                    : 0;
      if (instruction != 0) return Unary(x, instruction, Type::kF32);
    }
    return Expanded(name, begin);
  }
  // The sign of a number changed or cleared: engines make a constant anew for each of their own instructions for that.
  constexpr Code WithBits(Code x, uint8_t instruction, uint32_t bits) {
    return Binary(x, Constant(bits, Type::kF32), instruction, Type::kF32);
  }
  static constexpr Code Retyped(Code x, Type type) {
    x.type = type;
    return x;
  }
  static constexpr Code Greatest(const Code& x, const Code& y) {
    return Arithmetic(x, y, 0, TypeOf(x, y) == Type::kU32 ? kI32MaxU : kI32MaxS);
  }
  static constexpr Code Least(const Code& x, const Code& y) {
    return Arithmetic(x, y, 0, TypeOf(x, y) == Type::kU32 ? kI32MinU : kI32MinS);
  }
  // Of one of kFunctions, whose arguments, from `begin` on, are operands of the op.
  constexpr Code Expanded(std::string_view name, size_t begin) {
    const std::string_view args = text_.substr(begin, text_.find(')', begin) - begin);
    std::array<char, 3> operands = {};
    for (size_t i = 0; i < args.size(); i += 3) {
      if (i / 3 == operands.size() || args[i] < 'a' || args[i] > 'c') return Invalid();
      if (i + 1 < args.size() && !args.substr(i + 1).starts_with(", ")) return Invalid();
      operands[i / 3] = args[i];
    }
    for (const Function& function : kFunctions) {
      if (function.name != name) continue;
      Parser parser(function.text, operands_, constants_);
      parser.names_ = operands;
      return parser.Parse();
    }
    return Invalid();
  }

  const std::string_view text_;
  const Type operands_;
  Constants& constants_;
  std::array<char, 3> names_ = {'a', 'b', 'c'};  // what the op calls what the text calls a, b and c
  size_t at_ = 0;
};

}  // namespace tandem::cpu::element_code

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_PARSER_H_
