// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes of op calls in the text of programs.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_ATTR_READER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_ATTR_READER_H_

#include "program_lexer.h"
#include "tandem/frozen_op_attrs.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem {

// Reads a list, "{a = 1}", from the current token, which is its bracket, on; null if it is empty.
Status ReadProgramAttrs(ProgramTokens& tokens, RcRef<const FrozenOpAttrs>* attrs);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_ATTR_READER_H_
