// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The rows of the element-wise ops: for each op and element type, the function over contiguous elements.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/elementwise/elementwise_blocks.h"
#include "tandem/dtype.h"
#include "tandem/op_selection.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace tandem::cpu {

// An element of a complex64 tensor, without the special cases of std::complex's arithmetic.
struct Complex64 {
  float re;
  float im;
};

// Looks at the elements of an op's last operand, a tensor of shape `shape` of which there are `n` in memory, before
// anything is computed from them.
using OperandCheck = Status (*)(const void* elements, int64_t n, const TensorShape& shape);

struct RowEntry {
  const char* op = nullptr;
  int num_operands = 0;
  DTypeSet dtypes = {};  // of the kernels that it serves; empty: the op has no type attribute
  Row row = nullptr;
  Row row_if_first_single = nullptr;  // as those of RowFunction
  Row row_if_rest_single = nullptr;
  float cost = 0.02f;       // nanoseconds an element on one core, besides the access to memory
  bool is_float = false;    // takes f32: serves f16 and bf16 as well, converted
  bool gives_bool = false;  // if it is_float
  bool swaps = false;       // the operands change places: x > y is y < x
  OperandCheck check = nullptr;
  const char* parameter = nullptr;  // a float attribute that the row gets as its parameter, an f32
  const char* flag = nullptr;       // a bool attribute that chooses another row
  Row row_if_flag = nullptr;
};

// Whether kernels of the build are made of the row, for its op or for one that computes with it.
constexpr bool HasUse(const RowEntry& entry) {
  const std::string_view op = entry.op;
  if (entry.dtypes.IsEmpty()) return IsInBuild(op);
  DTypeSet wanted = DTypesInBuild(op);
  const auto add_user = [&wanted](std::string_view user) { wanted = wanted | DTypesInBuild(user); };
  if (op == "tf.AddV2") {
    for (const char* user : {"tf.AddN", "tf.BiasAdd", "tf.Cumsum"}) add_user(user);
  } else if (op == "tf.Mul") {
    for (const char* user : {"tf.Cumprod", "tf.Einsum"}) add_user(user);
  }
  const DTypeSet halves = entry.is_float ? DTypeSet{DType::kF16, DType::kBF16} : DTypeSet();
  return !((entry.dtypes | halves) & wanted).IsEmpty();
}

// Collects the rows of the build while the program is compiled.
struct RowList {
  std::array<RowEntry, 320> entries = {};
  size_t size = 0;

  constexpr void Add(const RowEntry& entry) {
    if (HasUse(entry)) entries[size++] = entry;
  }
};

// The rows that `kList`, a constexpr function, adds to a RowList: a table that is data, which code would take much more
// room for.
template <void (*kList)(RowList& rows)>
constexpr auto MakeRowTable() {
  constexpr RowList kRows = [] {
    RowList rows;
    kList(rows);
    return rows;
  }();
  std::array<RowEntry, kRows.size> table = {};
  for (size_t i = 0; i < kRows.size; ++i) table[i] = kRows.entries[i];
  return table;
}

using RowTable = std::span<const RowEntry>;

// Rows that the compiler makes vectors of, for the best instruction set of this machine.
RowTable SimdRows();
RowTable ActivationRows();
// Elementary functions, for that set too.
RowTable MathRows();
// Rows that gain little from vectors: integer division, powers, most of complex arithmetic.
RowTable ScalarRows();

// The rows that convert elements, for the best instruction set of this machine.
struct CastRows {
  CastRows();

  // How to convert elements of `from` to `to`, which differ and are not strings. `truncate`: where a wider
  // floating-point number becomes a narrower one, what the narrower one's fraction has no bits for is dropped instead
  // of rounded.
  RowFunction Function(DType from, DType to, bool truncate) const;
  Row Direct(DType from, DType to) const { return direct[static_cast<size_t>(from)][static_cast<size_t>(to)]; }

  // Null where there is no direct way; then there is one through f32.
  std::array<std::array<Row, kNumDTypes>, kNumDTypes> direct = {};
  // These clear the bits that the narrower type has no room for.
  Row clear_f32_for_f16 = nullptr;
  Row clear_f32_for_bf16 = nullptr;
  Row clear_f64_for_f16 = nullptr;
  Row clear_f64_for_bf16 = nullptr;
  Row clear_f64_for_f32 = nullptr;
};

// Calls use(entry, dtypes, function) for each entry of the tables, with the dtypes that its function serves, and again
// for f16 and bf16 where it serves them, converted.
template <typename Use>
void ForEachRow(const CastRows& casts, Use use) {
  for (const RowTable& table : {SimdRows(), ActivationRows(), MathRows(), ScalarRows()}) {
    for (const RowEntry& entry : table) {
      if (entry.row == nullptr) continue;  // left out of the module
      const RowFunction own = {.row = entry.row,
                               .row_if_first_single = entry.row_if_first_single,
                               .row_if_rest_single = entry.row_if_rest_single};
      use(entry, entry.dtypes, own);
      if (!entry.is_float) continue;
      for (const DType half : {DType::kF16, DType::kBF16}) {
        RowFunction function = own;
        function.widen = casts.Direct(half, DType::kF32);
        function.widened_size = sizeof(float);
        if (!entry.gives_bool) {
          function.narrow = casts.Direct(DType::kF32, half);
          function.unnarrowed_size = sizeof(float);
        }
        use(entry, DTypeSet{half}, function);
      }
    }
  }
}
// Nanoseconds to convert an element of f16 or bf16 there and back, about.
inline constexpr float kConversionCost = 0.2f;

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_ROWS_H_
