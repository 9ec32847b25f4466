// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/reduction/reduction_programs.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/lanes.h"

namespace tandem::shader {

namespace {

// What an invocation reduces one after the other, in loads, so that rounding errors stay small: a lane of a row, the
// invocation of a column. Beyond that there are chunks.
constexpr uint64_t kMaxSerialRows = 256;
constexpr uint64_t kMaxChunk = 16384;
constexpr uint64_t kMaxSoftwareChunk = 1024;

enum Value : size_t { kOp, kDType, kResult, kSource, kIsLast, kWidth, kLanes, kWorkgroup, kSubgroups, kIsRows };

uint64_t DivideUp(uint64_t x, uint64_t y) { return (x + y - 1) / y; }

bool IsArg(ReductionOp op) { return op == ReductionOp::kArgMax || op == ReductionOp::kArgMin; }
// Whether elements are compared as unsigned integers that are in their order.
bool HasKeys(ReductionOp op) { return op >= ReductionOp::kMax; }
// What elements of `dtype` are added up as: the means of integers are those of sums in 64 bits.
DType SumDType(ReductionOp op, DType dtype) {
  if (op != ReductionOp::kMean || !kIntDTypes.Contains(dtype)) return dtype;
  return kSignedIntDTypes.Contains(dtype) ? DType::kI64 : DType::kU64;
}
// Whether the count of elements is a parameter of u32: where it is no number of f32.
bool CountsInIntegers(ReductionOp op, DType dtype) { return ArithmeticBytes(SumDType(op, dtype)) == 8; }
bool TakesSmallest(ReductionOp op) { return op == ReductionOp::kMin || op == ReductionOp::kArgMin; }

// What the variant's texts are made of.
struct Composer {
  explicit Composer(std::span<const int32_t> values)
      : values(values),
        op(static_cast<ReductionOp>(values[kOp])),
        dtype(static_cast<DType>(values[kDType])),
        result(static_cast<DType>(values[kResult])),
        source(static_cast<ReductionSource>(values[kSource])),
        key_bits(ArithmeticBitsOf(dtype)),
        is_last(values[kIsLast] != 0),
        is_rows(values[kIsRows] != 0),
        width(values[kWidth]) {}

  bool IsFloat() const { return kFloatDTypes.Contains(dtype); }
  bool IsSigned() const { return kSignedIntDTypes.Contains(dtype); }
  // The types of keys, and of signed integers of their size.
  bool IsLong() const { return ArithmeticBytes(dtype) == 8; }
  std::string_view KeyType() const { return key_bits.type; }
  std::string_view SignedType() const { return IsLong() ? "i64" : "i32"; }
  // f32 and f64 are read as bits where these are wanted, so that nothing is done to NaN.
  bool IsReadAsBits(DType of) const { return HasKeys(op) && (of == DType::kF32 || of == DType::kF64); }
  std::string_view TypeInBuffer(DType of) const { return IsReadAsBits(of) ? KeyType() : StorageType(of); }
  std::string_view PairType() const { return IsLong() ? "vec2<u64>" : "vec2u"; }
  std::string_view AccumulatorType() const {
    return IsArg(op) ? PairType() : HasKeys(op) ? KeyType() : ArithmeticType(SumDType(op, dtype));
  }
  std::string Accumulators(int32_t count) const {
    return IsArg(op) ? std::string(PairType()) : VectorOf(AccumulatorType(), count);
  }
  // By how much the sign of a key is shifted out.
  std::string SignShift(int32_t count) const {
    return count == 1 ? (IsLong() ? "63u" : "31u") : IsLong() ? "vec4u(63u)" : "vec4u(31u)";
  }

  // The key of what every number is beyond or the same: of an infinity, or an integer's limit.
  std::string_view LowestKey() const;
  std::string KeyText() const;
  std::string LoadText() const;
  std::string CombineText() const;
  std::string FinishText() const;
  ShaderText Compose(const ShaderSource& source_text) const;

  std::span<const int32_t> values;
  ReductionOp op;
  DType dtype;
  DType result;
  ReductionSource source;
  ArithmeticBits key_bits;
  bool is_last;
  bool is_rows;
  int32_t width;
};

std::string_view Composer::LowestKey() const {
  switch (dtype) {
    case DType::kF64:
      return "0x000fffffffffffff";
    case DType::kI8:
      return "0x7fffff80u";
    case DType::kI16:
      return "0x7fff8000u";
    default:
      return IsFloat() ? "0x007fffffu" : "0";
  }
}

// `fn key_of(bits: U) -> U`: of floats, larger the larger the number is, and largest for NaN; without a branch, so that
// it is the same for vectors.
std::string Composer::KeyText() const {
  const std::string u = VectorOf(KeyType(), width);
  const std::string i = VectorOf(SignedType(), width);
  const std::string sign_bit(key_bits.sign);
  const std::string smallest = TakesSmallest(op) ? "~" : "";
  std::string text = "fn key_of(given: " + u + ") -> " + u + " {\n";
  if (!IsFloat()) {
    const char* flip = IsSigned() ? " ^ " : "";
    const std::string sign = IsSigned() ? u + "(" + sign_bit + ")" : "";
    return text + "return " + smallest + "(given" + flip + sign + ");\n}\n";
  }
  text += "var bits: " + u + " = given;\n";
  // Zeros of either sign are equal.
  if (IsArg(op)) text += "if (bits == " + sign_bit + ") { bits = " + u + "(0u); }\n";
  const auto sign_of = [&](const std::string& value) {
    return "bitcast<" + u + ">(bitcast<" + i + ">(" + value + ") >> " + SignShift(width) + ")";
  };
  text += "let magnitude: " + u + " = bits & " + u + "(" + std::string(key_bits.all_but_sign) + ");\n";
  text += "let above: " + u + " = " + u + "(" + std::string(key_bits.infinity) + ") - magnitude;\n";
  text += "let is_nan: " + u + " = " + sign_of("above") + ";\n";
  text += "let sign: " + u + " = " + sign_of("bits") + ";\n";
  return text + "return " + smallest + "(bits ^ (sign | " + u + "(" + sign_bit + "))) | is_nan;\n}\n";
}

// `fn load(base: u32, i: u32, channel: u32) -> Q`
std::string Composer::LoadText() const {
  constexpr std::string_view kHead = "fn load(base: u32, i: u32, channel: u32) -> Q { ";
  std::string value = "x[base + i]";
  if (source == ReductionSource::kAccumulators) return std::string(kHead) + "return " + value + "; }\n";
  if (source == ReductionSource::kNormalized) {
    return std::string(kHead) + "let s: vec4<A> = stats[i / parameters.cols]; return Q(dy[base + i]) * (((Q(" + value +
           ") - s.x) - s.y) * s.z); }\n";
  }
  if (source != ReductionSource::kElements) {
    const std::string difference = "let d: Q = Q(" + value + ") - Q(mean[channel]); ";
    const bool squares = source == ReductionSource::kSquares;
    return std::string(kHead) + difference + "return " + (squares ? "d" : "Q(dy[base + i])") + " * d; }\n";
  }
  if (op == ReductionOp::kAny) return std::string(kHead) + "return " + value + "; }\n";
  if (op == ReductionOp::kAll) return std::string(kHead) + "return Q(1u) - " + value + "; }\n";
  if (!HasKeys(op)) return std::string(kHead) + "return Q(" + value + "); }\n";
  if (ArithmeticDType(dtype) != dtype) value = VectorOf(ArithmeticType(dtype), width) + "(" + value + ")";
  if (!IsReadAsBits(dtype) && (IsFloat() || IsSigned())) {
    value = "bitcast<" + VectorOf(KeyType(), width) + ">(" + value + ")";
  }
  const std::string key = "key_of(" + value + ")";
  return KeyText() + std::string(kHead) + "return " + (IsArg(op) ? "Q(" + key + ", i)" : key) + "; }\n";
}

// `identity`, `combine` of Q, and `fold` of a Q to an A.
std::string Composer::CombineText() const {
  if (IsArg(op)) {
    return "fn identity() -> Q { return Q(0u, 0xffffffffu); }\n"
           "fn combine(a: Q, b: Q) -> Q {\n"
           "if (a.x > b.x || (a.x == b.x && a.y < b.y)) { return a; }\nreturn b;\n}\n"
           "fn join_lanes_join(a: A, b: A) -> A { return combine(a, b); }\n"
           "fn fold(a: Q) -> A { return a; }\n";
  }
  const auto both = [this](const std::string& a, const std::string& b) {
    if (HasKeys(op)) return "max(" + a + ", " + b + ")";
    return "(" + a + (op == ReductionOp::kProd ? " * " : " + ") + b + ")";
  };
  const std::string_view identity = HasKeys(op) ? LowestKey() : op == ReductionOp::kProd ? "1" : "0";
  const std::string folded = width == 1 ? "a" : both(both("a.x", "a.y"), both("a.z", "a.w"));
  return "fn identity() -> Q { return Q(A(" + std::string(identity) + ")); }\n" +
         "fn combine(a: Q, b: Q) -> Q { return " + both("a", "b") + "; }\nfn fold(a: Q) -> A { return " + folded +
         "; }\n";
}

// `fn finish(a: F) -> R`, where F is A for rows and Q for columns.
std::string Composer::FinishText() const {
  constexpr std::string_view kHead = "fn finish(a: F) -> R { ";
  if (!is_last) return std::string(kHead) + "return a; }\n";
  const int32_t result_width = is_rows ? 1 : width;
  const std::string u = VectorOf(KeyType(), result_width);
  const std::string i = VectorOf(SignedType(), result_width);
  const std::string f = VectorOf("f32", result_width);
  if (IsArg(op)) {
    const std::string_view value = result == DType::kI64 ? "vec2u(index, 0u)" : "index";
    return std::string(kHead) + "let index: u32 = u32(a.y) / parameters.divisor; return " + std::string(value) +
           "; }\n";
  }
  switch (op) {
    case ReductionOp::kAll:
      return std::string(kHead) + "return F(1u) - a; }\n";
    case ReductionOp::kMean:
      return std::string(kHead) + "if (parameters.count == " + (CountsInIntegers(op, dtype) ? "0u" : "0.0") +
             ") { return R(F(" + (dtype == DType::kC64 ? "A(parameters.empty, parameters.empty)" : "parameters.empty") +
             ")); } " + "return R(a / F(parameters.count)); }\n";
    case ReductionOp::kMax:
    case ReductionOp::kMin:
      break;
    default:
      return std::string(kHead) + "return R(a); }\n";
  }
  const std::string key = op == ReductionOp::kMin ? "~a" : "a";
  const std::string sign_bit = u + "(" + std::string(key_bits.sign) + ")";
  if (IsSigned()) return std::string(kHead) + "return R(bitcast<" + i + ">((" + key + ") ^ " + sign_bit + ")); }\n";
  if (!IsFloat()) return std::string(kHead) + "return R(" + key + "); }\n";
  const std::string bits = "(key ^ (~sign | " + sign_bit + "))";
  return std::string(kHead) + "let key: " + u + " = " + key + "; let sign: " + u + " = bitcast<" + u + ">(bitcast<" +
         i + ">(key) >> " + SignShift(result_width) + "); return " +
         (IsReadAsBits(dtype) ? bits : "R(bitcast<" + f + ">(" + bits + "))") + "; }\n";
}

ShaderText Composer::Compose(const ShaderSource& source_text) const {
  ShaderBuilder builder(source_text.name);
  if (dtype == DType::kF16) builder.UseF16();
  const int32_t result_width = is_rows ? 1 : width;
  const std::string_view result_type = IsArg(op) ? (result == DType::kI64 ? "vec2u" : "u32") : TypeInBuffer(result);
  builder.Alias("A", AccumulatorType()).Alias("Q", Accumulators(width)).Alias("F", Accumulators(result_width));
  if (!is_last) {
    builder.Alias("R", Accumulators(result_width));
  } else {
    builder.Alias("R", IsArg(op) ? std::string(result_type) : VectorOf(result_type, result_width));
  }
  const std::string element =
      source == ReductionSource::kAccumulators ? Accumulators(width) : VectorOf(TypeInBuffer(dtype), width);
  const bool is_product = source == ReductionSource::kProducts || source == ReductionSource::kNormalized;
  if (is_product) builder.Buffer("dy", BufferAccess::kRead, element);
  builder.Buffer("x", BufferAccess::kRead, element);
  if (source == ReductionSource::kSquares || source == ReductionSource::kProducts) {
    builder.Buffer("mean", BufferAccess::kRead, VectorOf("f32", is_rows ? 1 : width));
  }
  if (source == ReductionSource::kNormalized) builder.Buffer("stats", BufferAccess::kRead, "vec4<A>");
  builder.Buffer("y", BufferAccess::kReadWrite, "R");
  for (const char* name : {"items", "rows", "cols", "chunk", "chunks", "unrolled", "channels", "divisor"}) {
    builder.Parameter(name);
  }
  builder.Parameter("count", CountsInIntegers(op, dtype) ? "u32" : "f32").Parameter("empty", "f32");
  builder.Text(LoadText() + CombineText() + FinishText());
  if (is_rows) {
    const LaneOp lane_op = IsArg(op)                  ? LaneOp::kOther
                           : HasKeys(op)              ? LaneOp::kMax
                           : op == ReductionOp::kProd ? LaneOp::kMultiply
                                                      : LaneOp::kAdd;
    const Lanes lanes = {values[kLanes], values[kWorkgroup], values[kSubgroups] != 0};
    DeclareLanes(builder, lanes);
    DeclareLaneReduction(builder, lanes, lane_op, "join_lanes");
  } else {
    const auto workgroup = static_cast<uint32_t>(values[kWorkgroup]);
    builder.Workgroup(workgroup).Constant("WORKGROUP", workgroup);
  }
  return builder.Finish(source_text.text);
}

ShaderText ComposeReduction(const ShaderSource& source, std::span<const int32_t> values) {
  return Composer(values).Compose(source);
}

const ShaderSource& RowsSource() {
  static const ShaderSource source = {"reduction_rows", &ComposeReduction, kReductionRowsText};
  return source;
}

const ShaderSource& ColumnsSource() {
  static const ShaderSource source = {"reduction_columns", &ComposeReduction, kReductionColumnsText};
  return source;
}

ShaderText ComposePackHalves(const ShaderSource& source, std::span<const int32_t>) {
  return ShaderBuilder(source.name)
      .Buffer("x", BufferAccess::kRead, "u32")
      .Buffer("y", BufferAccess::kReadWrite, "u32")
      .Parameter("size")
      .Workgroup(64)
      .Finish(source.text);
}

const ShaderSource& PackHalvesSource() {
  static const ShaderSource source = {"pack_halves", &ComposePackHalves, kPackHalvesText};
  return source;
}

// Into how many chunks a row or the rows of a column are cut.
uint64_t CountChunks(uint64_t outer, uint64_t rows, uint64_t cols, const GpuLimits& limits) {
  if (cols == 1) {
    const uint64_t units = rows % 4 == 0 ? rows / 4 : rows;
    const uint64_t least = limits.is_software ? 512 : 1024;  // worth a launch more
    if (units <= least) return 1;
    const uint64_t most = limits.is_software ? kMaxSoftwareChunk : kMaxChunk;
    const uint64_t wanted = limits.is_software ? 32 : 512;
    const uint64_t chunks = std::min(DivideUp(units, least), DivideUp(wanted, std::max<uint64_t>(outer, 1)));
    return std::max(DivideUp(units, most), chunks);
  }
  if (rows <= 32) return 1;
  const uint64_t items = std::max<uint64_t>(outer * (cols % 4 == 0 ? cols / 4 : cols), 1);
  const uint64_t wanted = limits.is_software ? 64 : 16384;
  return std::max(DivideUp(rows, kMaxSerialRows), std::min(DivideUp(rows, 16), DivideUp(wanted, items)));
}

}  // namespace

void ReductionPlan::Add(uint64_t outer, uint64_t rows, uint64_t cols, const GpuLimits& limits) {
  uint64_t chunks;
  do {
    chunks = CountChunks(outer, rows, cols, limits);
    Add({outer, rows, cols, chunks, empty(), false});
    rows = chunks;
  } while (chunks != 1);
}

ReductionPlan PlanReduction(const TensorShape& shape, const ReducedDims& reduced, const GpuLimits& limits) {
  ReductionPlan stages;
  uint64_t outer[TensorShape::kMaxRank + 1] = {1};  // product of the dimensions before
  uint64_t results = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto dim = static_cast<uint64_t>(shape.dim(axis));
    outer[axis + 1] = outer[axis] * dim;
    if (!reduced[static_cast<size_t>(axis)]) results *= dim;
  }
  if (shape.num_elements() == 0) {
    stages.Add({1, 0, results, 1, true, true});
    return stages;
  }
  uint64_t rows = 1;
  uint64_t cols = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const auto dim = static_cast<uint64_t>(shape.dim(axis));
    if (dim == 1) continue;
    if (reduced[static_cast<size_t>(axis)]) {
      rows *= dim;
      continue;
    }
    if (rows > 1) stages.Add(outer[axis + 1], rows, cols, limits);
    rows = 1;
    cols *= dim;
  }
  if (rows > 1 || stages.empty()) stages.Add(1, rows, cols, limits);
  stages.back().is_last = true;
  return stages;
}

Launch ReductionProgram(const ReductionKind& kind, const ReductionStage& stage, uint64_t count, uint64_t channels,
                        const GpuLimits& limits) {
  const bool is_rows = stage.cols == 1 && stage.rows > 1;
  const ReductionSource source = stage.is_first ? kind.source : ReductionSource::kAccumulators;
  const uint64_t vectors = is_rows ? stage.rows : stage.cols;
  // Elements of a vector have one place and one row.
  const bool is_single = IsArg(kind.op) || (is_rows && source == ReductionSource::kNormalized);
  const int32_t width = !is_single && vectors % 4 == 0 ? 4 : 1;
  const auto units = static_cast<uint64_t>(width);
  const uint64_t rows = is_rows ? stage.rows / units : stage.rows;
  const uint64_t cols = is_rows ? 1 : stage.cols / units;
  const uint64_t items = stage.outer * stage.chunks * cols;
  const uint64_t chunk = DivideUp(std::max<uint64_t>(rows, 1), stage.chunks);
  Lanes lanes;
  if (is_rows) lanes = IsArg(kind.op) ? ChooseSharedLanes(items, chunk, limits) : ChooseLanes(items, chunk, limits);
  const DType result = kind.result == DType::kInvalid ? kind.dtype : kind.result;
  Launch launch;
  launch.variant = ShaderVariant(
      is_rows ? RowsSource() : ColumnsSource(),
      {static_cast<int32_t>(kind.op), static_cast<int32_t>(kind.dtype), static_cast<int32_t>(result),
       static_cast<int32_t>(source), stage.is_last, width, lanes.lanes, lanes.workgroup, lanes.subgroups, is_rows});
  const uint64_t step = stage.chunks * cols;
  const uint64_t unrolled = rows * cols > 3 * step ? rows * cols - 3 * step : 0;
  // An index within [rows, cols] is turned into that of its row at the end.
  const uint64_t divisor = stage.cols;
  for (uint64_t word : {items, rows, cols, chunk, stage.chunks, unrolled, channels, divisor}) {
    launch.parameters.Add(static_cast<uint32_t>(word));
  }
  if (CountsInIntegers(kind.op, kind.dtype)) {
    launch.parameters.Add(static_cast<uint32_t>(count));
  } else {
    launch.parameters.AddFloat(static_cast<float>(count));
  }
  launch.parameters.AddFloat(std::numeric_limits<float>::quiet_NaN());
  launch.workgroups = lanes.Workgroups(items, limits);
  return launch;
}

uint64_t AccumulatorBytes(const ReductionKind& kind, const ReductionStage& stage) {
  return stage.Size() * ArithmeticBytes(SumDType(kind.op, kind.dtype)) * (IsArg(kind.op) ? 2 : 1);
}

void Reduce(ShaderCall& call, const ReductionKind& kind, const TensorShape& shape, const ReducedDims& reduced,
            std::initializer_list<GpuBuffer*> inputs, GpuBuffer* out, uint64_t channels) {
  ReductionPlan stages = PlanReduction(shape, reduced, call.limits());
  const uint64_t results = stages.back().Size();
  if (results == 0) return;
  const uint64_t count = static_cast<uint64_t>(shape.num_elements()) / results;
  std::array<GpuBuffer*, 4> buffers = {};
  auto end = std::copy(inputs.begin(), inputs.end(), buffers.begin());
  for (const ReductionStage& stage : stages) {
    GpuBuffer* to = stage.is_last ? out : call.Temporary(AccumulatorBytes(kind, stage));
    *end++ = to;
    call.Run(ReductionProgram(kind, stage, count, channels, call.limits()), {buffers.begin(), end});
    buffers[0] = to;
    end = buffers.begin() + 1;
  }
}

Launch PackHalvesProgram(uint64_t size, const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(PackHalvesSource());
  launch.parameters = {static_cast<uint32_t>(size)};
  launch.workgroups = LinearWorkgroups(DivideUp(size, 2), 64, limits);
  return launch;
}

std::vector<ShaderVariant> ReductionVariants(const GpuLimits& limits) {
  std::vector<ShaderVariant> variants = {ShaderVariant(PackHalvesSource())};
  const auto add = [&](const ReductionKind& kind) {
    for (const uint64_t rows : {uint64_t{7}, uint64_t{8}, uint64_t{800}, uint64_t{8000}}) {
      for (const uint64_t cols : {uint64_t{1}, uint64_t{3}, uint64_t{4}}) {
        for (const bool is_first : {true, false}) {
          if (!is_first && rows != 8) continue;
          for (const bool is_last : {true, false}) {
            variants.push_back(ReductionProgram(kind, {1, rows, cols, 1, is_first, is_last}, rows, 1, limits).variant);
          }
        }
      }
    }
  };
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kF16}) {
    if (dtype == DType::kF16 && !limits.has_f16) continue;
    for (const auto op : {ReductionOp::kSum, ReductionOp::kProd, ReductionOp::kMax, ReductionOp::kMin}) {
      add({op, dtype});
    }
    for (const DType index : {DType::kI32, DType::kI64}) {
      add({ReductionOp::kArgMax, dtype, index});
      add({ReductionOp::kArgMin, dtype, index});
    }
    if (dtype == DType::kI32 || dtype == DType::kU32) continue;
    add({ReductionOp::kMean, dtype});
    for (const auto source : {ReductionSource::kSquares, ReductionSource::kProducts, ReductionSource::kNormalized}) {
      add({ReductionOp::kSum, dtype, DType::kF32, source});
    }
  }
  for (const auto op : {ReductionOp::kAny, ReductionOp::kAll}) add({op, DType::kBool});
  add({ReductionOp::kArgMax, DType::kBool, DType::kI32});
  return variants;
}

}  // namespace tandem::shader
