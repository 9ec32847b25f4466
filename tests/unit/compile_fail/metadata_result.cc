// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A metadata function that returns a shape (MD-5).
// expected: a metadata function returns TensorMetadata, StatusOr<TensorMetadata>, StatusOr<std::array<TensorMetadata,
// N>>, or Status with a std::span<TensorMetadata> parameter

#include "tandem/op_def.h"

using namespace tandem;  // NOLINT

TensorShape Wrong(const TensorMetadata& x) { return x.shape; }
const OpDefBuilder op = OpDefBuilder("t.Op").Metadata<&Wrong>();
