// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EventList: what happens on any thread, kept until JavaScript takes it.

#ifndef TANDEM_BINDINGS_WASM_EVENTS_H_
#define TANDEM_BINDINGS_WASM_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "tandem_js.h"

namespace tandem::js {

// One event, linked into the list without an allocation, which owns it from then on.
class Event {
 public:
  Event(uint32_t kind, uint32_t id) : record_{kind, id, 0, 0} {}
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Takes over what `data` points to, until the event is taken.
  void set_data(const void* data, size_t size) {
    record_.data = reinterpret_cast<uintptr_t>(data);
    record_.size = static_cast<uint32_t>(size);
  }

 private:
  friend class EventList;
  tandem_js_event record_;
  Event* next_ = nullptr;
};

// Thread-safe. Calls `wake` when there is something to do, at most once until Take is called.
class EventList {
 public:
  explicit EventList(void (*wake)()) : wake_(wake) {}
  // Frees what nobody has taken.
  ~EventList();
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;

  void Post(Event& event);
  // There is something to do besides events.
  void Wake() {
    if (!woken_.load(std::memory_order_relaxed) && !woken_.exchange(true)) wake_();
  }
  // Moves the oldest events to `records`, as many as there is room for; how many.
  size_t Take(std::span<tandem_js_event> records);

 private:
  Event* Pop();

  void (*const wake_)();
  std::atomic<bool> woken_{false};
  std::mutex mutex_;
  Event* first_ = nullptr;
  Event* last_ = nullptr;
};

}  // namespace tandem::js

#endif  // TANDEM_BINDINGS_WASM_EVENTS_H_
