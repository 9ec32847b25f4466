// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NativeThread: a thread that may fail to begin, by the POSIX interface: std::thread throws where none can be had.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_NATIVE_THREAD_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_NATIVE_THREAD_H_

#include <pthread.h>

#include <functional>
#include <utility>

namespace tandem::shader {

class NativeThread {
 public:
  NativeThread() = default;
  NativeThread(const NativeThread&) = delete;
  NativeThread& operator=(const NativeThread&) = delete;
  ~NativeThread() { Join(); }

  // False if the system gives no thread; `body` is then never called. Called again only after that.
  [[nodiscard]] bool Start(std::function<void()> body) {
    body_ = std::move(body);
    const auto run = [](void* self) -> void* {
      static_cast<NativeThread*>(self)->body_();
      return nullptr;
    };
    runs_ = pthread_create(&id_, nullptr, run, this) == 0;
    return runs_;
  }
  // Waits for the end of `body`, if it was started.
  void Join() {
    if (std::exchange(runs_, false)) pthread_join(id_, nullptr);
  }

 private:
  std::function<void()> body_;
  pthread_t id_{};
  bool runs_ = false;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_NATIVE_THREAD_H_
