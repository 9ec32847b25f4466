// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The list of events.

#include "events.h"

namespace tandem::js {

EventList::~EventList() {
  while (Event* event = Pop()) {
    auto* data = reinterpret_cast<void*>(event->record_.data);
    if (event->record_.kind == TANDEM_JS_PRINT) {
      tandem_free(data);
    } else if (event->record_.kind != TANDEM_JS_CALL) {  // a call is not the event's
      tandem_status_release(static_cast<tandem_status*>(data));
    }
    delete event;
  }
}

void EventList::Post(Event& event) {
  {
    const std::lock_guard lock(mutex_);
    (last_ == nullptr ? first_ : last_->next_) = &event;
    last_ = &event;
  }
  Wake();
}

Event* EventList::Pop() {
  const std::lock_guard lock(mutex_);
  Event* event = first_;
  if (event == nullptr) return nullptr;
  first_ = event->next_;
  if (first_ == nullptr) last_ = nullptr;
  event->next_ = nullptr;
  return event;
}

size_t EventList::Take(std::span<tandem_js_event> records) {
  // Before the list is looked at: what comes later wakes again.
  woken_.store(false);
  size_t count = 0;
  while (count < records.size()) {
    Event* event = Pop();
    if (event == nullptr) break;
    records[count++] = event->record_;
    delete event;
  }
  return count;
}

}  // namespace tandem::js
