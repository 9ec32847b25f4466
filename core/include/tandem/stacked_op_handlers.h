// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op handlers over others by their text: "profile:nan-guard:cpu".

#ifndef TANDEM_STACKED_OP_HANDLERS_H_
#define TANDEM_STACKED_OP_HANDLERS_H_

#include <functional>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/logging_op_handler.h"
#include "tandem/nan_guard_op_handler.h"
#include "tandem/profile_op_handler.h"
#include "tandem/shadow_op_handler.h"
#include "tandem/substitution_op_handler.h"

namespace tandem {

// What the layers that a text asks for are made with. Handlers have copies of the sinks, and several of them may call
// theirs at the same time.
struct StackedOpHandlerOptions {
  LoggingOptions logging{};
  NanGuardOptions nan_guard{};
  ShadowOptions shadow{};
  // Where all layers `profile` count; FailedPrecondition if it is null and the text has one.
  RcRef<Profile> profile{};
  // The rules of the table that a layer `substitute` names, the same ones each time, or why there are none. Empty:
  // there are no tables.
  std::function<StatusOr<RcRef<Substitutions>>(std::string_view table)> substitutions{};
};

// The handler that `text` describes:
//
//   HANDLER = NAME | LAYER ":" HANDLER | SHADOW ":" HANDLER "|" HANDLER | "substitute:" TABLE "|" HANDLER
//           | "(" HANDLER ")"
//   LAYER   = ( "log" | "nan-guard" | "profile" ) [ OPTIONS ]
//   SHADOW  = "shadow" [ OPTIONS ]
//   OPTIONS = "{" OPTION { "," OPTION } "}"
//   OPTION  = NAME [ "=" NUMBER ]
//
// Options replace those that are given for the layer:
//
//   log        sync               LoggingOptions::synchronous
//              elements=COUNT     LoggingOptions::max_elements
//   nan-guard  infinities         NanGuardOptions::infinities
//              report             results are given as they are: NanGuardOptions::fail is off
//   shadow     fail               ShadowOptions::fail
//              reports=COUNT      ShadowOptions::max_reports
//              ulp=NUMBER, abs=NUMBER, of-largest=NUMBER
//                                 one tolerance for all ops, of these parts, the others 0: TensorTolerance, at_larger
//
// Numbers are decimal, not negative and finite: "3", "1e-6". A TABLE is a name that the options know, a NAME that of a
// handler of the runtime; neither has any of ":|(){}", but for "record:" HANDLER, which a ProgramRecorder has made. A
// layer is over all that follows it, up to the
// "|" that ends the primary of a shadow, or a closing bracket: "profile:shadow:a|b" is a profile of a shadow, and
// "shadow:(profile:a)|b" the same as "shadow:profile:a|b", a shadow whose primary is profiled. Each handler that is
// made is added to the runtime under its part of the text as its name, so that the same text gives the same handler
// again, whatever the options are then (OH-5); so does a handler that was added under such a name otherwise.
//
// Errors tell the place in the text, in bytes from 0, and leave the runtime as it was: InvalidArgument for a text that
// is not of this form, is longer than 4096 bytes or has more than 32 handlers inside one another; NotFound for an
// unknown name or layer; what the options say of a table. Thread-safe.
TANDEM_EXPORT StatusOr<OpHandler*> GetOrMakeOpHandler(CoreRuntime& runtime, std::string_view text,
                                                      const StackedOpHandlerOptions& options);

}  // namespace tandem

#endif  // TANDEM_STACKED_OP_HANDLERS_H_
