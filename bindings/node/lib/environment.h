// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Environment: what the addon keeps for one instance of Node (the main thread, or a worker): the way to its event loop,
// its runtimes, and what makes its errors.

#ifndef TANDEM_BINDINGS_NODE_ENVIRONMENT_H_
#define TANDEM_BINDINGS_NODE_ENVIRONMENT_H_

#include <node_api.h>

#include <cstdint>
#include <memory>

#include "tandem.h"

namespace tandem::node {

class Environment;

// A runtime that its program or the environment destroys, whichever comes first.
struct RuntimeBox {
  tandem_runtime* runtime = nullptr;
  std::shared_ptr<Environment> environment;
  // What the garbage collector has been told of its tensors' memory, and calls since the first time.
  int64_t told_bytes = 0;
  uint32_t num_calls = 0;
  RuntimeBox* previous = nullptr;
  RuntimeBox* next = nullptr;
};

// Has the garbage collector know how much memory tensors take, now and then: so that it looks for those that are
// garbage.
void TellMemory(napi_env env, RuntimeBox& box);

// Something to be done on the thread of the environment. Deleted after Run, or without it if the environment ends.
class Posted {
 public:
  virtual ~Posted() = default;
  virtual void Run(napi_env env) = 0;
};

// Used on the thread of its environment, but for Post. Lives as long as anything that was made in it.
class Environment {
 public:
  // False if Node has no room for it.
  static bool Create(napi_env env);
  static const std::shared_ptr<Environment>& Of(napi_env env);

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Runs it soon. From any thread.
  void Post(std::unique_ptr<Posted> posted);
  // While something is awaited, the process does not end.
  void BeginWait(napi_env env);
  void EndWait(napi_env env);

  void Add(RuntimeBox& box);
  void Remove(RuntimeBox& box);

  // What makes an error of (code, message, op, location, text, cause).
  napi_status SetErrorFactory(napi_env env, napi_value factory);
  // Takes the error over. Null if JavaScript has thrown.
  napi_value MakeError(napi_env env, tandem_status* status);

 private:
  Environment() = default;
  static void End(void* environment);
  static void CallPosted(napi_env env, napi_value, void*, void* data);

  napi_threadsafe_function loop_ = nullptr;
  napi_ref error_factory_ = nullptr;
  RuntimeBox* runtimes_ = nullptr;
  int64_t num_waits_ = 0;
};

}  // namespace tandem::node

#endif  // TANDEM_BINDINGS_NODE_ENVIRONMENT_H_
