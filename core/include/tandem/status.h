// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Status: an error as a value (code, message, op, location, cause, way), or success in one null pointer.

#ifndef TANDEM_STATUS_H_
#define TANDEM_STATUS_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/location.h"
#include "tandem/message.h"

namespace tandem {

enum class StatusCode : uint8_t {
  kOk = 0,
  kCancelled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kResourceExhausted,
  kFailedPrecondition,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kUnavailable,
  kDataLoss,
};

// "InvalidArgument" and so on.
TANDEM_EXPORT std::string_view StatusCodeName(StatusCode code);

// One word. Copies share an immutable, reference-counted payload; any thread may copy, read and destroy its own
// Status. When memory for a payload cannot be had, the status becomes the ready-made "out of memory" error: making an
// error never fails and never aborts.
class [[nodiscard]] TANDEM_EXPORT Status {
 public:
  constexpr Status() : payload_(nullptr) {}
  Status(const Status& other) : payload_(other.payload_) { AddRef(); }
  Status(Status&& other) noexcept : payload_(std::exchange(other.payload_, nullptr)) {}
  constexpr ~Status() { DropRef(); }
  Status& operator=(Status other) noexcept {
    std::swap(payload_, other.payload_);
    return *this;
  }

  // An error. `code` must not be kOk. The message follows ER-2: lower case, what was expected, what was given, no
  // full stop; `op` is put in front in brackets if it is not empty.
  static Status Error(StatusCode code, std::string_view message, std::string_view op = {}, Location location = {},
                      Status cause = {});
  // ResourceExhausted "out of memory"; needs no allocation.
  static Status OutOfMemory();

  bool ok() const { return payload_ == nullptr; }
  StatusCode code() const;
  // "[tf.MatMul] inner dimensions must agree, ..."; empty if ok.
  std::string_view message() const;
  // The message without the op in brackets.
  std::string_view detail() const;
  // "tf.MatMul", or empty.
  std::string_view op() const;
  DecodedLocation location() const;
  // The error that led to this one, or ok.
  const Status& cause() const;

  // This error with op and location filled in where it lacks them; ok stays ok.
  Status WithContext(std::string_view op, Location location) const;
  // This error with `cause` as the cause, if it has none yet; ok stays ok.
  Status WithCause(Status cause) const;

  // An op that an error came through.
  struct Step {
    std::string_view op;
    DecodedLocation location;  // of the call
  };
  // Of the ops that an error came through, those next to its origin are kept; the others are only counted.
  static constexpr size_t kMaxSteps = 8;
  // This error as one of `op`, to which it came by an argument (ER-3a); ok stays ok. What it says of itself remains
  // that of its origin.
  Status Through(std::string_view op, Location location) const;
  // How many ops it came through, the origin not counted.
  size_t num_steps() const;
  // The `i`th of them, counted from the origin; `i` is below num_steps() and kMaxSteps.
  Step step(size_t i) const;

  // "InvalidArgument: [op] text (file:line:column)", then one line "through op (file:line:column)" for each step, then
  // one "caused by" line per cause.
  std::string ToString() const;
  // The same text, in parts.
  void WriteText(FunctionRef<void(std::string_view)> write) const;
  // The steps alone, each as "op (file:line:column)", and "3 more ops" for those not kept, between `before` and
  // `after`.
  void WriteSteps(FunctionRef<void(std::string_view)> write, std::string_view before, std::string_view after) const;

  // Same error, not merely equal text, whatever ops it came through.
  friend bool operator==(const Status& a, const Status& b) { return a.payload_ == b.payload_ || a.HasOriginOf(b); }

 private:
  friend struct StatusPayload;
  explicit Status(const struct StatusPayload* payload) : payload_(payload) {}
  void AddRef() const {
    if (payload_ != nullptr) AddRefSlow();
  }
  constexpr void DropRef() {
    if (payload_ != nullptr) DropRefSlow();
  }
  void AddRefSlow() const;
  void DropRefSlow();
  bool HasOriginOf(const Status& other) const;

  const struct StatusPayload* payload_;
};

namespace internal {
TANDEM_EXPORT Status MakeErrorOfParts(StatusCode code, const MessagePart* parts, size_t num_parts);
}  // namespace internal

// Formats `parts` with MessageBuilder: `InvalidArgument("expected rank 2, got ", shape)`.
template <typename... Parts>
[[gnu::always_inline]] inline Status MakeError(StatusCode code, const Parts&... parts) {
  const MessagePart all[] = {MessagePart(parts)...};
  return internal::MakeErrorOfParts(code, all, sizeof...(parts));
}
template <typename... Parts>
[[gnu::always_inline]] inline Status InvalidArgument(const Parts&... parts) {
  return MakeError(StatusCode::kInvalidArgument, parts...);
}
template <typename... Parts>
[[gnu::always_inline]] inline Status ResourceExhausted(const Parts&... parts) {
  return MakeError(StatusCode::kResourceExhausted, parts...);
}
template <typename... Parts>
[[gnu::always_inline]] inline Status FailedPrecondition(const Parts&... parts) {
  return MakeError(StatusCode::kFailedPrecondition, parts...);
}
template <typename... Parts>
[[gnu::always_inline]] inline Status Internal(const Parts&... parts) {
  return MakeError(StatusCode::kInternal, parts...);
}

namespace internal {
// The Internal error of a StatusOr that was made of an ok status.
TANDEM_EXPORT Status MissingValueError();
}  // namespace internal

// A T or an error.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  // `error` must not be ok: there would be no value then, and it becomes an Internal error that says so.
  StatusOr(Status error) : status_(std::move(error)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) [[unlikely]]
      status_ = internal::MissingValueError();
    if (status_.ok()) __builtin_unreachable();
  }
  template <typename U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, StatusOr> &&
           !std::is_same_v<std::remove_cvref_t<U>, Status>) StatusOr(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)
  StatusOr(const StatusOr& other) : status_(other.status_) {
    if (ok()) new (&value_) T(other.value_);
  }
  StatusOr(StatusOr&& other) noexcept : status_(other.status_) {
    if (ok()) new (&value_) T(std::move(other.value_));
  }
  ~StatusOr() {
    if (ok()) value_.~T();
  }
  StatusOr& operator=(StatusOr other) noexcept {
    this->~StatusOr();
    return *new (this) StatusOr(std::move(other));
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  // The value; the status must be ok.
  T& value() & {
    assert(ok());
    return value_;
  }
  const T& value() const& {
    assert(ok());
    return value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  union {
    T value_;
  };
};

}  // namespace tandem

// Returns from the enclosing function if `expr` is an error.
#define TANDEM_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                      \
    if (::tandem::Status tandem_status = (expr); !tandem_status.ok()) return tandem_status; \
  } while (false)

// `TANDEM_ASSIGN_OR_RETURN(auto x, F())`: declares x from a StatusOr, or returns its error.
#define TANDEM_ASSIGN_OR_RETURN(declaration, expr) \
  TANDEM_ASSIGN_OR_RETURN_IMPL(TANDEM_CONCAT(tandem_status_or_, __LINE__), declaration, expr)
#define TANDEM_ASSIGN_OR_RETURN_IMPL(tmp, declaration, expr) \
  auto tmp = (expr);                                         \
  if (!tmp.ok()) return tmp.status();                        \
  declaration = std::move(tmp).value()
#define TANDEM_CONCAT(a, b) TANDEM_CONCAT_IMPL(a, b)
#define TANDEM_CONCAT_IMPL(a, b) a##b

#endif  // TANDEM_STATUS_H_
