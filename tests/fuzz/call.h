// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Call: an op call as a plain value, right or wrong, that can be made again and again, written down and read back.

#ifndef TANDEM_TESTS_FUZZ_CALL_H_
#define TANDEM_TESTS_FUZZ_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance_case.h"
#include "tandem/attr_entry.h"
#include "tandem/op_attrs.h"

namespace tandem::fuzz {

using conformance::TensorSpec;

enum class InputKind : uint8_t {
  kDense,   // strings too
  kScalar,  // one element for the whole shape
  kSparse,  // the elements of `bytes`, evenly spread over the shape
  kNull,    // a null handle
  kError,   // a handle that is an error
  kShared,  // the handle of the first input
};

struct InputSpec {
  InputKind kind = InputKind::kDense;
  TensorSpec tensor{};  // unused by kNull, kError and kShared
};

// An attribute of any type; what is not of the type is unused.
struct AttrSpec {
  std::string name;
  AttrType type = AttrType::kI64;
  bool is_array = false;
  std::vector<int64_t> integers{};   // bool, i32, i64, dtype
  std::vector<double> reals{};       // f32, f64
  std::vector<std::string> texts{};  // string, function
  std::vector<TensorShape> shapes{};
  std::vector<TensorSpec> tensors{};
  std::vector<AttrSpec> nested{};  // attrs: one set
};

// How a call is made. All ways give the same results, bit for bit, and the same errors.
enum class Way : uint8_t {
  kExternal,         // inputs in memory that is no larger than they are and never taken over, and kept
  kMoved,            // in the runtime's memory, and moved: results may take them over
  kMadeOp,           // by an op that was made before
  kQueued,           // by the work queue
  kThreads,          // in another runtime, whose queue has threads
  kPending,          // inputs whose metadata is known and that resolve after the call
  kPendingMetadata,  // inputs whose metadata comes after the call, too
};
inline constexpr int kNumWays = 7;

enum class ChainKind : uint8_t { kNone, kReady, kPending, kError };
// What the call's request is; kCancelled and kPast are before the call, kCancelledLate is while inputs are pending.
enum class RequestKind : uint8_t { kNone, kLive, kCancelled, kPast, kCancelledLate };

struct Call {
  std::string op;
  std::vector<InputSpec> inputs{};
  std::vector<AttrSpec> attrs{};
  int num_results = 1;
  ChainKind chain = ChainKind::kNone;
  RequestKind request = RequestKind::kNone;
  Way way = Way::kMoved;     // the second way, after kExternal
  bool fails_input = false;  // pending ways: the first pending input becomes an error
  std::string then{};        // an op of one input that is called with the first result; empty: none
};

// The attribute set of the call.
void SetAttrs(const std::vector<AttrSpec>& specs, OpAttrs& attrs);
// The other way round.
std::vector<AttrSpec> SpecsOf(const OpAttrsRef& attrs);

// One line of JSON.
std::string TextOf(const Call& call);
// Throws std::exception if the text is no call.
Call ParseCall(std::string_view text);

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_CALL_H_
