// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Two loops, one of several vectors a turn and one of single elements for the rest, which are the same instructions on
// vectors of which one element counts.

#include "kernels/elementwise/elementwise_code.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include "kernels/elementwise/elementwise_code_parser.h"

namespace tandem::cpu {

namespace {

constexpr uint32_t kLanes = 4;
// Vectors a turn. Each step is taken for all of them before the next, so that none waits for its own last one: as many
// as there are registers for, if there is room for their code.
constexpr uint32_t kMostVectors = 4;
constexpr ptrdiff_t kMostInputsOfMostVectors = 2;
// Engines may refuse to compile more at once on a page's own thread.
constexpr size_t kMaxBytes = 4096;

enum Opcode : uint8_t {
  kBlock = 0x02,
  kLoop = 0x03,
  kEnd = 0x0b,
  kBrIf = 0x0d,
  kLocalGet = 0x20,
  kLocalSet = 0x21,
  kLocalTee = 0x22,
  kI32Load = 0x28,
  kI32Load8U = 0x2d,
  kI32Store8 = 0x3a,
  kI32Const = 0x41,
  kI32Eqz = 0x45,
  kI32LtU = 0x49,
  kI32GeU = 0x4f,
  kI32Add = 0x6a,
  kI32Sub = 0x6b,
  kSimd = 0xfd,
};
enum SimdOpcode : uint8_t {
  kV128Load = 0x00,
  kV128Load32Splat = 0x09,
  kV128Store = 0x0b,
  kV128Const = 0x0c,
  kI8x16Shuffle = 0x0d,
  kI32x4Splat = 0x11,
  kI32x4ExtractLane = 0x1b,
  kV128Store32Lane = 0x5a,
  kV128Load32Zero = 0x5c,
  kI16x8ExtendLowU = 0x89,
  kI32x4ExtendLowU = 0xa9,
};
constexpr uint8_t kI32Type = 0x7f;
constexpr uint8_t kV128Type = 0x7b;
constexpr uint8_t kNoType = 0x40;
constexpr uint32_t kNoLocal = UINT32_MAX;

// Bytes of a module. What is added after memory was exhausted is lost.
class Writer {
 public:
  explicit Writer(GrowingArray<uint8_t>& bytes) : bytes_(bytes) {}

  bool has_memory() const { return has_memory_; }
  size_t size() const { return bytes_.size(); }

  void Byte(uint8_t byte) { has_memory_ = has_memory_ && bytes_.Append(byte) != nullptr; }
  void Bytes(std::initializer_list<uint8_t> bytes) {
    for (const uint8_t byte : bytes) Byte(byte);
  }
  void Bytes(std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) Byte(byte);
  }
  void Unsigned(uint32_t value) {
    for (; value > 127; value >>= 7) Byte(static_cast<uint8_t>(value | 128));
    Byte(static_cast<uint8_t>(value));
  }
  void Get(uint32_t local) { OfLocal(kLocalGet, local); }
  void Set(uint32_t local) { OfLocal(kLocalSet, local); }
  void Tee(uint32_t local) { OfLocal(kLocalTee, local); }
  // `value` is below 2^31.
  void Const(uint32_t value) {
    Byte(kI32Const);
    for (; value > 63; value >>= 7) Byte(static_cast<uint8_t>(value | 128));
    Byte(static_cast<uint8_t>(value));
  }
  void Simd(uint8_t opcode) {
    Byte(kSimd);
    Unsigned(opcode);
  }
  // `offset` bytes behind the address; no alignment is promised, of which engines make nothing.
  void Access(uint32_t offset) {
    Byte(0);
    Unsigned(offset);
  }
  void VectorConst(uint32_t bits) {
    Simd(kV128Const);
    for (uint32_t i = 0; i < 4 * kLanes; ++i) Byte(static_cast<uint8_t>(bits >> (8 * (i % 4))));
  }

 private:
  void OfLocal(uint8_t opcode, uint32_t local) {
    Byte(opcode);
    Unsigned(local);
  }

  GrowingArray<uint8_t>& bytes_;
  bool has_memory_ = true;
};

// The function: its locals and its instructions.
class FunctionEncoder {
 public:
  FunctionEncoder(const ElementLoop& loop, uint32_t num_vectors, Writer& writer)
      : loop_(loop), num_vectors_(num_vectors), out_(writer) {}

  void Encode() {
    AssignLocals();
    out_.Unsigned(2);  // groups of locals
    out_.Unsigned(num_pointers_);
    out_.Byte(kI32Type);
    out_.Unsigned(num_vector_locals_);
    out_.Byte(kV128Type);
    LoadOperands();
    Loop(num_vectors_ * kLanes);
    is_one_ = true;
    num_vectors_ = 1;
    Loop(1);
    out_.Byte(kEnd);
  }

 private:
  // Parameters of the function.
  static constexpr uint32_t kOperands = 0;
  static constexpr uint32_t kCount = 1;

  void AssignLocals() {
    uint32_t next = 2;
    for (size_t i = 0; i < loop_.inputs.size(); ++i) {
      pointers_[i] = loop_.inputs[i].is_single ? kNoLocal : next++;
    }
    for (size_t i = 0; i < loop_.steps.size(); ++i) {
      pointers_[loop_.inputs.size() + i] = loop_.steps[i].is_stored ? next++ : kNoLocal;
    }
    num_pointers_ = next - 2;
    const uint32_t first = next;
    for (size_t place = 0; place < num_places(); ++place) {
      values_[place] = next;
      next += place < loop_.inputs.size() && loop_.inputs[place].is_single ? 1 : num_vectors_;
    }
    for (const ElementLoop::Step& step : loop_.steps) {
      for (const uint8_t instruction : step.code) {
        if (!IsConstant(instruction)) continue;
        uint32_t& local = constants_[instruction - element_code::kFirstConstant];
        if (local == kNoLocal) local = next++;
      }
    }
    for (size_t i = 0; i < loop_.steps.size(); ++i) {
      if (std::ranges::count(loop_.steps[i].code, element_code::kParameter) > 0) parameters_[i] = next++;
    }
    num_vector_locals_ = next - first;
  }

  size_t num_places() const { return loop_.inputs.size() + loop_.steps.size(); }
  static bool IsConstant(uint8_t instruction) {
    return instruction >= element_code::kFirstConstant && instruction < element_code::kEndOfConstants;
  }
  bool IsBool(size_t place) const {
    const size_t num_inputs = loop_.inputs.size();
    return place < num_inputs ? loop_.inputs[place].is_bool : loop_.steps[place - num_inputs].gives_bool;
  }

  // Addresses, elements that stand for all, and constants.
  void LoadOperands() {
    uint32_t index = 0;
    for (size_t place = 0; place < num_places(); ++place) {
      const bool is_input = place < loop_.inputs.size();
      if (!is_input && pointers_[place] == kNoLocal) continue;
      out_.Get(kOperands);
      out_.Byte(kI32Load);
      out_.Access(4 * index++);
      if (pointers_[place] != kNoLocal) {
        out_.Set(pointers_[place]);
      } else {
        LoadOne(place);
        out_.Set(values_[place]);
      }
    }
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i] == kNoLocal) continue;
      out_.VectorConst(ElementConstant(static_cast<uint8_t>(element_code::kFirstConstant + i)));
      out_.Set(constants_[i]);
    }
    for (size_t i = 0; i < loop_.steps.size(); ++i) {
      if (parameters_[i] == kNoLocal) continue;
      out_.VectorConst(std::bit_cast<uint32_t>(loop_.steps[i].parameter));
      out_.Set(parameters_[i]);
    }
  }
  // Of an address on the stack.
  void LoadOne(size_t place) {
    if (IsBool(place)) {
      out_.Byte(kI32Load8U);
      out_.Access(0);
      out_.Simd(kI32x4Splat);
    } else {
      out_.Simd(kV128Load32Splat);
      out_.Access(0);
    }
  }

  // Turns of so many elements, as long as there are as many.
  void Loop(uint32_t elements) {
    out_.Bytes({kBlock, kNoType});
    out_.Get(kCount);
    out_.Const(elements);
    out_.Bytes({kI32LtU, kBrIf, 0, kLoop, kNoType});
    Turn();
    for (size_t place = 0; place < num_places(); ++place) {
      if (pointers_[place] == kNoLocal) continue;
      out_.Get(pointers_[place]);
      out_.Const(elements * (IsBool(place) ? 1 : 4));
      out_.Byte(kI32Add);
      out_.Set(pointers_[place]);
    }
    out_.Get(kCount);
    out_.Const(elements);
    out_.Byte(kI32Sub);
    out_.Tee(kCount);
    out_.Const(elements);
    out_.Bytes({kI32GeU, kBrIf, 0, kEnd, kEnd});
  }

  // All steps, for all vectors or for one element.
  void Turn() {
    std::array<bool, kMaxLoopInputs> is_loaded = {};
    for (size_t i = 0; i < loop_.steps.size(); ++i) {
      if (loop_.steps[i].code.empty()) continue;
      for (const uint8_t instruction : loop_.steps[i].code) {
        if (instruction < element_code::kParameter) LoadOnce(loop_.steps[i].operands[instruction], is_loaded);
      }
      for (uint32_t k = 0; k < num_vectors_; ++k) {
        for (const uint8_t instruction : loop_.steps[i].code) Instruction(i, instruction, k);
        out_.Set(values_[loop_.inputs.size() + i] + k);
      }
    }
    // Behind all loads.
    for (size_t place = loop_.inputs.size(); place < num_places(); ++place) {
      for (uint32_t k = 0; k < num_vectors_ && pointers_[place] != kNoLocal; ++k) Store(place, k);
    }
  }
  void LoadOnce(size_t place, std::array<bool, kMaxLoopInputs>& is_loaded) {
    if (place >= loop_.inputs.size() || pointers_[place] == kNoLocal || is_loaded[place]) return;
    is_loaded[place] = true;
    for (uint32_t k = 0; k < num_vectors_; ++k) {
      out_.Get(pointers_[place]);
      Load(place, k);
      out_.Set(values_[place] + k);
    }
  }
  // The local of a place's value, of which each vector has one unless one stands for all.
  uint32_t ValueOf(size_t place, uint32_t k) const {
    return values_[place] + (place < loop_.inputs.size() && loop_.inputs[place].is_single ? 0 : k);
  }
  void Instruction(size_t step, uint8_t instruction, uint32_t k) {
    if (instruction < element_code::kParameter) {
      out_.Get(ValueOf(loop_.steps[step].operands[instruction], k));
    } else if (instruction == element_code::kParameter) {
      out_.Get(parameters_[step]);
    } else if (IsConstant(instruction)) {
      out_.Get(constants_[instruction - element_code::kFirstConstant]);
    } else {
      out_.Simd(instruction);
    }
  }
  void Load(size_t place, uint32_t k) {
    if (is_one_) return LoadOne(place);
    if (!IsBool(place)) {
      out_.Simd(kV128Load);
      return out_.Access(4 * kLanes * k);
    }
    out_.Simd(kV128Load32Zero);
    out_.Access(kLanes * k);
    out_.Simd(kI16x8ExtendLowU);
    out_.Simd(kI32x4ExtendLowU);
  }
  void Store(size_t place, uint32_t k) {
    out_.Get(pointers_[place]);
    out_.Get(values_[place] + k);
    if (is_one_ && IsBool(place)) {
      out_.Simd(kI32x4ExtractLane);
      out_.Bytes({0, kI32Store8});
      return out_.Access(0);
    }
    if (!is_one_ && !IsBool(place)) {
      out_.Simd(kV128Store);
      return out_.Access(4 * kLanes * k);
    }
    if (IsBool(place)) {
      out_.Get(values_[place] + k);
      out_.Simd(kI8x16Shuffle);
      // The lowest byte of each element.
      for (uint32_t i = 0; i < 4 * kLanes; ++i) out_.Byte(static_cast<uint8_t>(4 * (i % kLanes)));
    }
    out_.Simd(kV128Store32Lane);
    out_.Access(is_one_ ? 0 : kLanes * k);
    out_.Byte(0);
  }

  const ElementLoop& loop_;
  uint32_t num_vectors_;
  Writer& out_;
  bool is_one_ = false;
  // Locals: the address of each place, if it is in memory, and its value; constants; each step's parameter.
  using PlaceLocals = std::array<uint32_t, kMaxLoopInputs + kMaxLoopSteps>;
  PlaceLocals pointers_ = {};
  PlaceLocals values_ = {};
  uint32_t num_pointers_ = 0;
  uint32_t num_vector_locals_ = 0;
  std::array<uint32_t, element_code::kEndOfConstants - element_code::kFirstConstant> constants_ = Filled<16>();
  std::array<uint32_t, kMaxLoopSteps> parameters_ = Filled<kMaxLoopSteps>();

  template <size_t kSize>
  static std::array<uint32_t, kSize> Filled() {
    std::array<uint32_t, kSize> locals;
    locals.fill(kNoLocal);
    return locals;
  }
};

// Everything before the section of code.
constexpr uint8_t kHeader[] = {0, 'a', 's', 'm', 1, 0, 0, 0,
                               // Type 0: a function of two i32.
                               1, 6, 1, 0x60, 2, kI32Type, kI32Type, 0};
constexpr uint8_t kMemory[] = {2, 8, 1, 1, 'm', 1, 'm', 2, 0, 0};
// As large as such a memory can be: 65,536 pages.
constexpr uint8_t kSharedMemory[] = {2, 11, 1, 1, 'm', 1, 'm', 2, 3, 0, 0x80, 0x80, 4};
constexpr uint8_t kFunctions[] = {3, 2, 1, 0,
                                  // Exported.
                                  7, 5, 1, 1, 'f', 0, 0};

bool EncodeWith(const ElementLoop& loop, bool is_shared, uint32_t num_vectors, GrowingArray<uint8_t>& code) {
  GrowingArray<uint8_t> function;
  Writer body(function);
  FunctionEncoder(loop, num_vectors, body).Encode();
  GrowingArray<uint8_t> size;
  Writer size_writer(size);
  size_writer.Unsigned(static_cast<uint32_t>(function.size()));
  Writer out(code);
  out.Bytes(kHeader);
  out.Bytes(is_shared ? std::span<const uint8_t>(kSharedMemory) : kMemory);
  out.Bytes(kFunctions);
  out.Byte(10);
  out.Unsigned(static_cast<uint32_t>(1 + size.size() + function.size()));
  out.Byte(1);
  out.Bytes(size.span());
  out.Bytes(function.span());
  return body.has_memory() && size_writer.has_memory() && out.has_memory();
}

using element_code::kFirstOperand;
constexpr uint8_t kSum[] = {kFirstOperand, kFirstOperand + 1, element_code::kF32Add};
constexpr uint8_t kDifference[] = {kFirstOperand, kFirstOperand + 1, element_code::kF32Sub};

bool IsNegation(ElementCode code) {
  return code.size() == 3 && code[0] == kFirstOperand && code[1] >= element_code::kFirstConstant &&
         code[1] < element_code::kEndOfConstants && ElementConstant(code[1]) == 0x80000000 &&
         code[2] == element_code::kXor;
}

// x + -y is x - y, the same bits, in one instruction less where nobody else wants -y, whose step has no code then.
void FoldNegations(size_t num_inputs, std::span<ElementLoop::Step> steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].is_stored || !IsNegation(steps[i].code)) continue;
    const size_t negated = num_inputs + i;
    size_t num_uses = 0;
    ElementLoop::Step* user = nullptr;
    for (ElementLoop::Step& step : steps.subspan(i + 1)) {
      for (const uint8_t instruction : step.code) {
        if (instruction >= element_code::kParameter || step.operands[instruction] != negated) continue;
        ++num_uses;
        user = &step;
      }
    }
    if (num_uses != 1 || !std::ranges::equal(user->code, kSum)) continue;
    const uint32_t other = user->operands[user->operands[0] == negated ? 1 : 0];
    user->operands = {other, steps[i].operands[0]};
    user->code = kDifference;
    steps[i].code = {};
  }
}

}  // namespace

bool EncodeElementLoop(const ElementLoop& given, bool is_shared, GrowingArray<uint8_t>& code) {
  std::array<ElementLoop::Step, kMaxLoopSteps> steps;
  std::ranges::copy(given.steps, steps.begin());
  const ElementLoop loop = {given.inputs, std::span(steps).first(given.steps.size())};
  FoldNegations(loop.inputs.size(), std::span(steps).first(given.steps.size()));
  const auto is_full = [](const ElementLoop::Input& input) { return !input.is_single; };
  const bool has_registers = std::ranges::count_if(loop.inputs, is_full) <= kMostInputsOfMostVectors;
  for (uint32_t num_vectors = has_registers ? kMostVectors : kMostVectors / 2;; num_vectors /= 2) {
    code.clear();
    if (!EncodeWith(loop, is_shared, num_vectors, code)) return false;
    if (code.size() <= kMaxBytes || num_vectors == 1) return true;
  }
}

RcRef<const LoopCode> LoopCodes::Find(const ElementLoop& loop) {
#ifdef __EMSCRIPTEN_PTHREADS__
  constexpr bool kIsShared = true;
#else
  constexpr bool kIsShared = false;
#endif
  RcRef<LoopCode> made = MakeRef<LoopCode>();
  if (!made || !EncodeElementLoop(loop, kIsShared, made->bytes)) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const RcRef<const LoopCode>& kept : kept_) {
    if (kept && std::ranges::equal(kept->bytes.span(), made->bytes.span())) return kept;
  }
  // Numbers that came round again would be those of other modules.
  if (last_id_ == UINT32_MAX) return nullptr;
  made->id = ++last_id_;
  RcRef<const LoopCode> code(std::move(made));
  kept_[next_victim_++ % kNumKept] = code;
  return code;
}

bool LoopCodes::Run(const LoopCode& code, std::span<const void* const> operands, int64_t n) const {
  return runner_(code.id, code.bytes.begin(), static_cast<uint32_t>(code.bytes.size()), operands.data(),
                 static_cast<uint32_t>(n));
}

}  // namespace tandem::cpu
