// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A metadata function with an argument behind those that take all the rest (MD-5).
// expected: in a metadata function no TensorMetadata, HostInput or second VariadicMetadata may follow a
// VariadicMetadata, which takes all remaining arguments

#include "tandem/op_def.h"

using namespace tandem;  // NOLINT

TensorMetadata Wrong(VariadicMetadata, const TensorMetadata& x) { return x; }
const OpDefBuilder op = OpDefBuilder("t.Op").Metadata<&Wrong>();
