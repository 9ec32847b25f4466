// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A metadata function that could change its argument (MD-5).
// expected: a metadata function takes const TensorMetadata&, HostInput, VariadicMetadata, const OpAttrsRef&,
// std::span<TensorMetadata> (the results) or const MetadataFrame&

#include "tandem/op_def.h"

using namespace tandem;  // NOLINT

TensorMetadata Wrong(TensorMetadata& x) { return x; }
const OpDefBuilder op = OpDefBuilder("t.Op").Metadata<&Wrong>();
