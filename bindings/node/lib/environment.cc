// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The life of an instance of the addon. When Node ends it, runtimes go first: they may still want to post.

#include "environment.h"

#include <new>
#include <utility>

namespace tandem::node {

void TellMemory(napi_env env, RuntimeBox& box) {
  constexpr uint32_t kCallsBetween = 16;
  if (box.num_calls++ % kCallsBetween != 0) return;
  tandem_memory_stats stats = {};
  stats.struct_size = sizeof(stats);
  if (tandem_status* error = tandem_runtime_memory(box.runtime, &stats)) return tandem_status_release(error);
  const auto bytes = static_cast<int64_t>(stats.bytes_in_use);
  int64_t all = 0;
  if (napi_adjust_external_memory(env, bytes - box.told_bytes, &all) == napi_ok) box.told_bytes = bytes;
}

bool Environment::Create(napi_env env) {
  std::unique_ptr<Environment> made(new (std::nothrow) Environment);
  napi_value name;
  if (made == nullptr || napi_create_string_utf8(env, "tandem", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, &CallPosted,
                                      &made->loop_) != napi_ok ||
      napi_unref_threadsafe_function(env, made->loop_) != napi_ok) {
    return false;
  }
  Environment* const environment = made.get();
  auto* const shared = new std::shared_ptr<Environment>(std::move(made));
  const auto release = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<Environment>*>(data); };
  return napi_set_instance_data(env, shared, release, nullptr) == napi_ok &&
         napi_add_env_cleanup_hook(env, &End, environment) == napi_ok;
}

const std::shared_ptr<Environment>& Environment::Of(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return *static_cast<std::shared_ptr<Environment>*>(data);
}

void Environment::End(void* data) {
  auto& environment = *static_cast<Environment*>(data);
  for (RuntimeBox* box = environment.runtimes_; box != nullptr; box = box->next) {
    tandem_status_release(tandem_runtime_destroy(box->runtime));
    box->runtime = nullptr;
  }
  // No other thread is left that would post.
  napi_release_threadsafe_function(environment.loop_, napi_tsfn_abort);
  environment.loop_ = nullptr;
}

void Environment::Post(std::unique_ptr<Posted> posted) {
  // It fails when the environment ends.
  if (loop_ != nullptr && napi_call_threadsafe_function(loop_, posted.get(), napi_tsfn_nonblocking) == napi_ok) {
    static_cast<void>(posted.release());
  }
}

void Environment::CallPosted(napi_env env, napi_value, void*, void* data) {
  const std::unique_ptr<Posted> posted(static_cast<Posted*>(data));
  if (env != nullptr) posted->Run(env);
}

void Environment::BeginWait(napi_env env) {
  if (num_waits_++ == 0) napi_ref_threadsafe_function(env, loop_);
}

void Environment::EndWait(napi_env env) {
  if (--num_waits_ == 0) napi_unref_threadsafe_function(env, loop_);
}

void Environment::Add(RuntimeBox& box) {
  box.next = runtimes_;
  if (runtimes_ != nullptr) runtimes_->previous = &box;
  runtimes_ = &box;
}

void Environment::Remove(RuntimeBox& box) {
  (box.previous == nullptr ? runtimes_ : box.previous->next) = box.next;
  if (box.next != nullptr) box.next->previous = box.previous;
}

napi_status Environment::SetErrorFactory(napi_env env, napi_value factory) {
  return napi_create_reference(env, factory, 1, &error_factory_);
}

napi_value Environment::MakeError(napi_env env, tandem_status* status) {
  napi_value factory, undefined, error = nullptr;
  napi_value args[6];
  const char* const texts[] = {tandem_code_name(tandem_status_code(status)), tandem_status_message(status),
                               tandem_status_op(status), tandem_status_location(status), tandem_status_text(status)};
  bool is_made = napi_get_reference_value(env, error_factory_, &factory) == napi_ok;
  for (size_t i = 0; i < 5 && is_made; ++i) {
    is_made = napi_create_string_utf8(env, texts[i], NAPI_AUTO_LENGTH, &args[i]) == napi_ok;
  }
  is_made = is_made && napi_get_undefined(env, &undefined) == napi_ok;
  args[5] = undefined;
  tandem_status* const cause = is_made ? tandem_status_cause(status) : nullptr;
  if (cause != nullptr) args[5] = MakeError(env, cause);
  tandem_status_release(status);
  if (!is_made || args[5] == nullptr || napi_call_function(env, undefined, factory, 6, args, &error) != napi_ok) {
    return nullptr;
  }
  return error;
}

}  // namespace tandem::node
