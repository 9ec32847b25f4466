// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The nan-guard op handler: finds the first op that gives a NaN or an infinity, and makes that result an error.

#ifndef TANDEM_NAN_GUARD_OP_HANDLER_H_
#define TANDEM_NAN_GUARD_OP_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/op_handler.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// A result with an element that it must not have. What it refers to is there during the call of the sink.
struct NanFinding {
  std::string_view op;
  Location location;  // of the call
  size_t result;
  const TensorMetadata& metadata;  // of the result
  int64_t element;                 // the first such element, in row-major order
  double value;                    // of a complex element the part that is so, the real one first
  const Status& error;             // what the result becomes, unless `fail` is off
};

// What is looked for, and what becomes of it.
struct NanGuardOptions {
  // Infinities are not allowed either.
  bool infinities = false;
  // The result becomes the error. Otherwise it is given as it is, and only the sink hears of it.
  bool fail = true;
  // Called for each such result, from whatever thread has found it, before its caller gets it; calls do not overlap. It
  // must not block nor call ops of this handler. May be empty.
  std::function<void(const NanFinding&)> sink{};
};

// A handler named `name` over `delegate`. Results of f16, bf16, f32, f64 and c64 are looked at, wherever they are: from
// a device they are copied to the host for it. The error is OutOfRange, with the op and the location of its call:
//   [tf.Log] result 0 must be without NaN, got nan at [1,2] of f32[2,3]
// Nothing waits: a result that is pending, large or on a device becomes a pending one (its metadata as known as before)
// that comes when it has been looked at. Errors, chains and tensors whose content cannot be brought to the host are
// passed on as they are. Where memory for it cannot be had the result is a ResourceExhausted error.
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateNanGuardOpHandler(std::string_view name, CoreRuntime& runtime,
                                                                 OpHandler& delegate, NanGuardOptions options);

}  // namespace tandem

#endif  // TANDEM_NAN_GUARD_OP_HANDLER_H_
