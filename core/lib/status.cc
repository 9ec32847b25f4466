// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Status payloads: one allocation that holds the counts, the text and the decoded location.

#include "tandem/status.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace tandem {

// The text is "[op] message" followed by the file name; it lies behind the payload, or in static storage.
struct StatusPayload {
  std::atomic<uint32_t> refs{1};
  bool is_static = false;  // never counted nor freed
  StatusCode code = StatusCode::kOk;
  uint32_t message_size = 0;  // with the op
  uint32_t op_size = 0;       // without the brackets
  uint32_t file_size = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  const char* text = nullptr;
  Status cause;

  std::string_view message() const { return {text, message_size}; }
  std::string_view op() const { return op_size == 0 ? std::string_view() : std::string_view(text + 1, op_size); }
  std::string_view file() const { return {text + message_size, file_size}; }

  void Free() const {
    this->~StatusPayload();
    ::operator delete(const_cast<StatusPayload*>(this));
  }
};

namespace {

constexpr std::string_view kOutOfMemoryText = "out of memory";

// Constants, also in their destruction: nothing of them runs before main or at exit.
constexpr StatusPayload kOutOfMemoryPayload = {
    .is_static = true,
    .code = StatusCode::kResourceExhausted,
    .message_size = kOutOfMemoryText.size(),
    .text = kOutOfMemoryText.data(),
    .cause = Status(),
};

constexpr Status kOkStatus;

struct Parts {
  StatusCode code;
  std::string_view op;
  std::string_view detail;
  DecodedLocation location;
};

// Null if memory is exhausted.
StatusPayload* NewPayload(const Parts& parts, Status cause) {
  const size_t op_space = parts.op.empty() ? 0 : parts.op.size() + 3;
  const size_t text_size = op_space + parts.detail.size() + parts.location.file.size();
  if (text_size > UINT32_MAX / 2) return nullptr;
  void* memory = ::operator new(sizeof(StatusPayload) + text_size, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* payload = new (memory) StatusPayload;
  char* text = reinterpret_cast<char*>(payload + 1);
  payload->text = text;
  const auto append = [&text](std::string_view part) { text = std::copy(part.begin(), part.end(), text); };
  if (!parts.op.empty()) {
    append("[");
    append(parts.op);
    append("] ");
  }
  append(parts.detail);
  append(parts.location.file);
  payload->code = parts.code;
  payload->op_size = static_cast<uint32_t>(parts.op.size());
  payload->message_size = static_cast<uint32_t>(op_space + parts.detail.size());
  payload->file_size = static_cast<uint32_t>(parts.location.file.size());
  payload->line = parts.location.line;
  payload->column = parts.location.column;
  payload->cause = std::move(cause);
  return payload;
}

}  // namespace

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::string_view kNames[] = {
      "Ok",
      "Cancelled",
      "Unknown",
      "InvalidArgument",
      "DeadlineExceeded",
      "NotFound",
      "AlreadyExists",
      "ResourceExhausted",
      "FailedPrecondition",
      "OutOfRange",
      "Unimplemented",
      "Internal",
      "Unavailable",
      "DataLoss",
  };
  const auto i = static_cast<size_t>(code);
  return i < std::size(kNames) ? kNames[i] : "Unknown";
}

Status Status::Error(StatusCode code, std::string_view message, std::string_view op, Location location, Status cause) {
  assert(code != StatusCode::kOk);
  const StatusPayload* payload = NewPayload({code, op, message, location.Decode()}, std::move(cause));
  return payload != nullptr ? Status(payload) : OutOfMemory();
}

Status Status::OutOfMemory() { return Status(&kOutOfMemoryPayload); }

void Status::AddRefSlow() const {
  if (!payload_->is_static) const_cast<StatusPayload*>(payload_)->refs.fetch_add(1, std::memory_order_relaxed);
}

void Status::DropRefSlow() {
  // A long chain of causes is taken apart in a loop, not by recursion.
  const StatusPayload* payload = payload_;
  while (payload != nullptr && !payload->is_static) {
    auto* mutable_payload = const_cast<StatusPayload*>(payload);
    if (mutable_payload->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const StatusPayload* next = std::exchange(mutable_payload->cause.payload_, nullptr);
    payload->Free();
    payload = next;
  }
}

StatusCode Status::code() const { return ok() ? StatusCode::kOk : payload_->code; }
std::string_view Status::message() const { return ok() ? std::string_view() : payload_->message(); }
std::string_view Status::op() const { return ok() ? std::string_view() : payload_->op(); }

std::string_view Status::detail() const {
  if (ok()) return {};
  std::string_view text = payload_->message();
  if (payload_->op_size > 0) text.remove_prefix(payload_->op_size + 3);
  return text;
}

DecodedLocation Status::location() const {
  if (ok()) return {};
  return {payload_->file(), payload_->line, payload_->column};
}

const Status& Status::cause() const { return ok() ? kOkStatus : payload_->cause; }

Status Status::WithContext(std::string_view op, Location location) const {
  if (ok()) return *this;
  const bool adds_op = payload_->op_size == 0 && !op.empty();
  DecodedLocation place = this->location();
  const bool lacks_location = !place.IsKnown();
  if (lacks_location) place = location.Decode();
  if (!adds_op && !(lacks_location && place.IsKnown())) return *this;
  const Parts parts = {payload_->code, adds_op ? op : this->op(), detail(), place};
  const StatusPayload* payload = NewPayload(parts, payload_->cause);
  return payload != nullptr ? Status(payload) : *this;
}

Status Status::WithCause(Status cause) const {
  if (ok() || cause.ok() || !payload_->cause.ok()) return *this;
  const StatusPayload* payload = NewPayload({payload_->code, op(), detail(), location()}, std::move(cause));
  return payload != nullptr ? Status(payload) : *this;
}

Status internal::MissingValueError() {
  return Status::Error(StatusCode::kInternal, "expected a value or an error, got an ok status");
}

std::string Status::ToString() const {
  if (ok()) return "Ok";
  std::string text;
  for (const Status* error = this; !error->ok(); error = &error->cause()) {
    if (error != this) text += "\n  caused by ";
    text.append(StatusCodeName(error->code())).append(": ").append(error->message());
    if (const DecodedLocation at = error->location(); at.IsKnown()) {
      text.append(" (").append(at.file).append(":").append(std::to_string(at.line));
      if (at.column > 0) text.append(":").append(std::to_string(at.column));
      text.append(")");
    }
  }
  return text;
}

}  // namespace tandem
