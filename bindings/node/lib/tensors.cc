// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of JavaScript's memory, and JavaScript's memory of tensors.

#include "tensors.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "environment.h"
#include "values.h"

namespace tandem::node {

napi_value GiveTensor(napi_env env, tandem_tensor* tensor) {
  auto box = std::make_unique<TensorBox>(TensorBox{tensor});
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<TensorBox> gone(static_cast<TensorBox*>(data));
    tandem_tensor_release(gone->tensor);
  };
  napi_value external = nullptr;
  if (napi_create_external(env, box.get(), finalize, nullptr, &external) != napi_ok) {
    tandem_tensor_release(tensor);
    return nullptr;
  }
  static_cast<void>(box.release());
  return external;
}

namespace {

// The memory of a typed array that a tensor refers to.
struct Wrapped final : public Posted {
  Wrapped(std::shared_ptr<Environment> of, napi_ref array) : environment(std::move(of)), reference(array) {}
  void Run(napi_env env) override { napi_delete_reference(env, reference); }

  std::shared_ptr<Environment> environment;
  napi_ref reference;
};

void ReleaseWrapped(void* user) {
  std::unique_ptr<Wrapped> wrapped(static_cast<Wrapped*>(user));
  const std::shared_ptr<Environment> environment = wrapped->environment;
  environment->Post(std::move(wrapped));
}

}  // namespace

napi_value CreateTensor(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  auto* const box = args.Pointer<RuntimeBox>(0);
  const auto dtype = static_cast<tandem_dtype>(args.Int(1));
  const std::vector<int64_t> dims = args.Ints(args[2]);
  const bool copies = args.Bool(4);
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  args.Check(napi_get_typedarray_info(env, args[3], &type, &length, &data, nullptr, nullptr));
  if (!args.ok()) return nullptr;
  static constexpr size_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
  const size_t size = length * kSizes[type];
  tandem_tensor* tensor = nullptr;
  tandem_status* error;
  if (copies) {
    error = tandem_tensor_create(box->runtime, dtype, dims.data(), dims.size(), data, size, &tensor);
  } else {
    napi_ref reference;
    if (napi_create_reference(env, args[3], 1, &reference) != napi_ok) return nullptr;
    auto* const wrapped = new Wrapped(box->environment, reference);
    error = tandem_tensor_wrap(box->runtime, dtype, dims.data(), dims.size(), data, size, &ReleaseWrapped, wrapped,
                               &tensor);
  }
  TellMemory(env, *box);
  return error != nullptr ? Throw(env, error) : GiveTensor(env, tensor);
}

napi_value CreateStrings(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const auto* const box = args.Pointer<RuntimeBox>(0);
  const std::vector<int64_t> dims = args.Ints(args[1]);
  std::vector<std::string> strings;
  for (napi_value value : args.List(args[2])) strings.push_back(args.Text(value));
  if (!args.ok()) return nullptr;
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (const std::string& string : strings) {
    texts.push_back(string.data());
    sizes.push_back(string.size());
  }
  tandem_tensor* tensor = nullptr;
  tandem_status* const error = tandem_tensor_create_strings(box->runtime, dims.data(), dims.size(), texts.data(),
                                                            sizes.data(), texts.size(), &tensor);
  return error != nullptr ? Throw(env, error) : GiveTensor(env, tensor);
}

namespace {

// The tensor that is the first argument; null if JavaScript has thrown.
tandem_tensor* TensorOf(Arguments& args) {
  const auto* const box = args.Pointer<TensorBox>(0);
  return args.ok() ? box->tensor : nullptr;
}

}  // namespace

napi_value TensorState(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_state state = TANDEM_PENDING;
  if (tandem_status* error = tandem_tensor_state(TensorOf(args), &state)) return Throw(env, error);
  static constexpr const char* kNames[] = {"pending", "available", "error"};
  return MakeText(env, kNames[state]);
}

napi_value TensorDType(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_dtype dtype = 0;
  if (tandem_status* error = tandem_tensor_dtype(TensorOf(args), &dtype)) return Throw(env, error);
  return MakeNumber(env, dtype);
}

napi_value TensorShape(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  int64_t dims[TANDEM_MAX_RANK];
  size_t rank = 0;
  if (tandem_status* error = tandem_tensor_shape(TensorOf(args), dims, TANDEM_MAX_RANK, &rank)) {
    return Throw(env, error);
  }
  napi_value shape;
  args.Check(napi_create_array_with_length(env, rank, &shape));
  for (uint32_t i = 0; i < rank && args.ok(); ++i) {
    args.Check(napi_set_element(env, shape, i, MakeNumber(env, static_cast<double>(dims[i]))));
  }
  return args.ok() ? shape : nullptr;
}

namespace {

// A promise of a tensor.
struct Awaited final : public Posted {
  Awaited(std::shared_ptr<Environment> of, napi_deferred promise) : environment(std::move(of)), deferred(promise) {}
  ~Awaited() override {
    tandem_tensor_release(tensor);
    tandem_status_release(error);
  }
  void Run(napi_env env) override;

  std::shared_ptr<Environment> environment;
  napi_deferred deferred;
  tandem_tensor* tensor = nullptr;  // to ask for the error, which the callback has only borrowed
  tandem_status* error = nullptr;
};

void Awaited::Run(napi_env env) {
  environment->EndWait(env);
  napi_value value = nullptr;
  if (error == nullptr) {
    napi_get_undefined(env, &value);
    napi_resolve_deferred(env, deferred, value);
    return;
  }
  value = environment->MakeError(env, std::exchange(error, nullptr));
  if (value != nullptr) napi_reject_deferred(env, deferred, value);
}

void PostAwaited(void* user, const tandem_status* error) {
  std::unique_ptr<Awaited> awaited(static_cast<Awaited*>(user));
  if (error != nullptr) awaited->error = tandem_tensor_await(awaited->tensor, 0);
  tandem_tensor_release(std::exchange(awaited->tensor, nullptr));
  const std::shared_ptr<Environment> environment = awaited->environment;
  environment->Post(std::move(awaited));
}

}  // namespace

napi_value TensorReady(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_tensor* const tensor = TensorOf(args);
  napi_deferred deferred;
  napi_value promise;
  args.Check(napi_create_promise(env, &deferred, &promise));
  if (!args.ok()) return nullptr;
  const std::shared_ptr<Environment>& environment = Environment::Of(env);
  auto awaited = std::make_unique<Awaited>(environment, deferred);
  environment->BeginWait(env);
  awaited->error = tandem_tensor_copy(tensor, &awaited->tensor);
  if (awaited->error == nullptr) awaited->error = tandem_tensor_on_ready(tensor, &PostAwaited, awaited.get());
  if (awaited->error == nullptr) {
    static_cast<void>(awaited.release());
    return promise;
  }
  // It has not called back, and never will.
  awaited->Run(env);
  return promise;
}

napi_value TensorView(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_tensor* const tensor = TensorOf(args);
  tandem_tensor* kept = nullptr;
  const void* data = nullptr;
  size_t size = 0;
  tandem_status* error = tandem_tensor_copy(tensor, &kept);
  if (error == nullptr) error = tandem_tensor_data(kept, &data, &size);
  if (error != nullptr) {
    tandem_tensor_release(kept);
    return Throw(env, error);
  }
  napi_value buffer = nullptr;
  if (size == 0) {
    tandem_tensor_release(kept);
    void* none = nullptr;
    args.Check(napi_create_arraybuffer(env, 0, &none, &buffer));
    return buffer;
  }
  const auto finalize = [](napi_env, void*, void* hint) { tandem_tensor_release(static_cast<tandem_tensor*>(hint)); };
  const napi_status made =
      napi_create_external_arraybuffer(env, const_cast<void*>(data), size, finalize, kept, &buffer);
  if (made != napi_ok) tandem_tensor_release(kept);
  args.Check(made);
  return buffer;
}

napi_value TensorStrings(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_tensor* const tensor = TensorOf(args);
  const int64_t count = args.Int(1);
  napi_value strings;
  args.Check(napi_create_array_with_length(env, static_cast<size_t>(count), &strings));
  for (int64_t i = 0; i < count && args.ok(); ++i) {
    const char* data = nullptr;
    size_t size = 0;
    if (tandem_status* error = tandem_tensor_string(tensor, i, &data, &size)) return Throw(env, error);
    napi_value string;
    args.Check(napi_create_string_utf8(env, data, size, &string));
    if (args.ok()) args.Check(napi_set_element(env, strings, static_cast<uint32_t>(i), string));
  }
  return args.ok() ? strings : nullptr;
}

napi_value TensorText(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const auto most = static_cast<int32_t>(args.Int(1));
  char* text = nullptr;
  if (tandem_status* error = tandem_tensor_text(TensorOf(args), most, &text)) return Throw(env, error);
  const napi_value value = MakeText(env, text);
  tandem_free(text);
  return value;
}

napi_value TensorAddress(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const void* data = nullptr;
  if (tandem_status* error = tandem_tensor_data(TensorOf(args), &data, nullptr)) return Throw(env, error);
  napi_value address = nullptr;
  args.Check(napi_create_bigint_uint64(env, reinterpret_cast<uintptr_t>(data), &address));
  return address;
}

napi_value AddressOf(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  args.Check(napi_get_typedarray_info(env, args[0], &type, &length, &data, nullptr, nullptr));
  napi_value address = nullptr;
  if (args.ok()) args.Check(napi_create_bigint_uint64(env, reinterpret_cast<uintptr_t>(data), &address));
  return address;
}

napi_value ReleaseTensor(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  auto* const box = args.Pointer<TensorBox>(0);
  if (args.ok()) tandem_tensor_release(std::exchange(box->tensor, nullptr));
  return nullptr;
}

}  // namespace tandem::node
