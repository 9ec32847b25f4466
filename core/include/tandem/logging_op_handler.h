// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The logging op handler: prints what passes through it to the handler below, and changes nothing.

#ifndef TANDEM_LOGGING_OP_HANDLER_H_
#define TANDEM_LOGGING_OP_HANDLER_H_

#include <functional>
#include <memory>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/op_handler.h"

namespace tandem {

// Where the lines go, and how much they say.
struct LoggingOptions {
  // Called with whole lines, from whatever thread has them; calls do not overlap.
  std::function<void(std::string_view)> sink;
  // Waits for the results of each op and prints them with their values. Otherwise nothing ever waits: the call is
  // printed when it is made, and each result when it becomes available.
  bool synchronous = false;
  // How many elements of a tensor are printed.
  int max_elements = 8;
};

// A handler named `name` over `delegate`. Lines are numbered by invocation:
//   [3] tf.MatMul {transpose_a = true}
//   [3]   input 0: f32[2,2] = [1, 2, 3, 4]
//   [3]   output 0: f32[2,2] = [7, 10, 15, 22]
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateLoggingOpHandler(std::string_view name, CoreRuntime& runtime,
                                                                OpHandler& delegate, LoggingOptions options);

// Text of a tensor: "f32[3] = [1, 2, 3]", up to `max_elements` elements. Knows the host types; others give dtype, shape
// and type. Thread-safe.
TANDEM_EXPORT void AppendTensor(MessageBuilder& out, const Tensor& tensor, int max_elements);

}  // namespace tandem

#endif  // TANDEM_LOGGING_OP_HANDLER_H_
