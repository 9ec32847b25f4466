// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The numbers, shapes and tensors that fuzzers draw: ordinary ones mostly, and those at which code breaks.

#ifndef TANDEM_TESTS_FUZZ_VALUES_H_
#define TANDEM_TESTS_FUZZ_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "call.h"
#include "random.h"
#include "tandem/dtype.h"
#include "tandem/tensor_shape.h"

namespace tandem::fuzz {

// A number that sizes, axes and counts are made of: -3 to 6 mostly, else at the ends of some integer type.
int64_t DrawInteger(Random& random);
double DrawReal(Random& random);
std::string DrawText(Random& random);
// One of those that tensors have.
DType DrawDType(Random& random);

// Up to rank 8 and some thousand elements, mostly far fewer; sometimes none, among dimensions of any size.
TensorShape DrawShape(Random& random);
// `shape` changed so that it may still broadcast to it: dimensions that are 1, or leading ones that are missing.
TensorShape DrawSmallerShape(const TensorShape& shape, Random& random);
// Of so many elements that no memory could hold them.
TensorShape DrawHugeShape(Random& random);

// Elements of a dtype other than string: bools are 0 or 1, others have any bits.
std::vector<std::byte> DrawElements(DType dtype, size_t count, Random& random);
// The same, but small integers alone, such as axes, sizes and indices are.
std::vector<std::byte> DrawSmallElements(DType dtype, size_t count, Random& random);

// A tensor that is on the host as a whole; `shape` has at most kMaxElements elements.
inline constexpr int64_t kMaxElements = 1 << 14;
TensorSpec DrawTensor(DType dtype, const TensorShape& shape, Random& random);

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_VALUES_H_
