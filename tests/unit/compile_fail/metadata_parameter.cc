// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A metadata function that takes a shape (MD-5).
// expected: a metadata function takes const TensorMetadata&, HostInput, VariadicMetadata, const OpAttrsRef&,
// std::span<TensorMetadata> (the results) or const MetadataFrame&

#include "tandem/op_def.h"

using namespace tandem;  // NOLINT

TensorMetadata Wrong(const TensorShape& shape) { return {DType::kF32, shape}; }
const OpDefBuilder op = OpDefBuilder("t.Op").Metadata<&Wrong>();
