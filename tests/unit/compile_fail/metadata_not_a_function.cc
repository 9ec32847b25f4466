// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A metadata function that is none (MD-5).
// expected: a metadata function is a plain function

#include "tandem/op_def.h"

using namespace tandem;  // NOLINT

int wrong = 0;
const OpDefBuilder op = OpDefBuilder("t.Op").Metadata<&wrong>();
