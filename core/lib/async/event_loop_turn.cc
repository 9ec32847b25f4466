// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How long the thread of an event loop has computed in this turn.

#include "tandem/event_loop_turn.h"

namespace tandem {

namespace {

struct Turn {
  int num_loops = 0;
  bool has_begun = false;  // it has taken something
  EventLoopTurn::Clock::time_point begin;
  EventLoopTurn::Clock::time_point last;  // when it took something last
};

constinit thread_local Turn this_turn;

bool IsOutOfQuestion(double cost, double limit) {
  return this_turn.num_loops == 0 || cost > EventLoopTurn::kMostTimesLimit * limit;
}

}  // namespace

EventLoopTurn::EventLoopTurn() { ++this_turn.num_loops; }
EventLoopTurn::~EventLoopTurn() { --this_turn.num_loops; }

void EventLoopTurn::Begin() { this_turn.has_begun = false; }

bool EventLoopTurn::Takes(double cost, double limit) {
  return !IsOutOfQuestion(cost, limit) && TakesAt(Clock::now(), cost, limit);
}

bool EventLoopTurn::TakesAt(Clock::time_point now, double cost, double limit) {
  if (IsOutOfQuestion(cost, limit)) return false;
  Turn& turn = this_turn;
  // After a while without any, the loop must have come round unnoticed.
  if (!turn.has_begun || now - turn.last > 2 * kLength) {
    turn.has_begun = true;
    turn.begin = now;
  }
  turn.last = now;
  return now - turn.begin < kLength;
}

}  // namespace tandem
