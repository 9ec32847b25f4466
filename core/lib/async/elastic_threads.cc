// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Threads made on demand, by the POSIX interface: std::thread throws where none can be had.

#include "async/elastic_threads.h"

#include <pthread.h>

#include <cstddef>
#include <new>
#include <utility>

namespace tandem::internal {

namespace {

// Explicit, since the default is too small for kernels on some systems and eats a 32-bit address space on others.
constexpr size_t kStackBytes = (sizeof(void*) == 8 ? size_t{8} : size_t{2}) << 20;

}  // namespace

struct ElasticThreads::Thread {
  ElasticThreads* owner;
  Task* task;  // null while idle
  pthread_t id{};
  std::condition_variable wake{};
  Thread* next = nullptr;
};

ElasticThreads::~ElasticThreads() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (Thread* thread = idle_; thread != nullptr; thread = thread->next) thread->wake.notify_one();
  thread_ended_.wait(lock, [this] { return num_living_ == 0; });
  Thread* ended = std::exchange(ended_, nullptr);
  lock.unlock();
  Join(ended);
}

bool ElasticThreads::Start(Task& task) {
  std::unique_lock lock(mutex_);
  if (Thread* thread = idle_) {
    idle_ = thread->next;
    --num_idle_;
    thread->task = &task;
    thread->wake.notify_one();
    return true;
  }
  const bool started = SpawnLocked(&task);
  Thread* ended = std::exchange(ended_, nullptr);
  lock.unlock();
  Join(ended);
  return started;
}

// Does not wait for the threads to run, which a browser's main thread must not.
int ElasticThreads::Reserve(int count) {
  const std::lock_guard lock(mutex_);
  while (num_idle_ < count && SpawnLocked(nullptr)) {
  }
  return num_idle_;
}

void ElasticThreads::PushIdleLocked(Thread& thread) {
  thread.task = nullptr;
  thread.next = idle_;
  idle_ = &thread;
  ++num_idle_;
}

// Under the lock, so that the thread's id is there before the thread can be joined.
bool ElasticThreads::SpawnLocked(Task* task) {
  auto* thread = new (std::nothrow) Thread{this, task};
  if (thread == nullptr) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = pthread_create(&thread->id, &attributes, &ElasticThreads::Main, thread);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    delete thread;
    return false;
  }
  ++num_living_;
  if (task == nullptr) PushIdleLocked(*thread);
  return true;
}

void* ElasticThreads::Main(void* thread) {
  auto* self = static_cast<Thread*>(thread);
  self->owner->Loop(*self);
  return nullptr;
}

void ElasticThreads::Loop(Thread& thread) {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Without a task, it is among the idle ones.
    thread.wake.wait(lock, [&] { return thread.task != nullptr || stopping_; });
    if (thread.task == nullptr) break;
    lock.unlock();
    thread.task->Run();
    lock.lock();
    if (stopping_ || num_idle_ >= kMaxIdle) break;
    PushIdleLocked(thread);
  }
  thread.next = ended_;
  ended_ = &thread;
  --num_living_;
  thread_ended_.notify_all();
}

void ElasticThreads::Join(Thread* threads) {
  while (threads != nullptr) {
    Thread* thread = threads;
    threads = thread->next;
    pthread_join(thread->id, nullptr);
    delete thread;
  }
}

}  // namespace tandem::internal
