// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The addon: what index.js calls, over the C interface. Functions throw the error of a call, made by what
// setErrorFactory was given.

#include <node_api.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "environment.h"
#include "tandem.h"
#include "tensors.h"
#include "values.h"

namespace tandem::node {

namespace {

// What JavaScript holds `pointer` by, until `release` is called with it.
template <typename T, void (*release)(T*)>
napi_value GivePointer(napi_env env, T* pointer) {
  napi_value external = nullptr;
  const auto finalize = [](napi_env, void* data, void*) { release(static_cast<T*>(data)); };
  if (napi_create_external(env, pointer, finalize, nullptr, &external) != napi_ok) {
    release(pointer);
    return nullptr;
  }
  return external;
}

// Throws the error, if it is one.
napi_value Done(napi_env env, tandem_status* error) { return error == nullptr ? nullptr : Throw(env, error); }

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

napi_value SetErrorFactory(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  args.Check(Environment::Of(env)->SetErrorFactory(env, args[0]));
  return nullptr;
}

napi_value Version(napi_env env, napi_callback_info) { return MakeText(env, tandem_version()); }

// Runtimes.

void ReleaseRuntime(RuntimeBox* box) {
  box->environment->Remove(*box);
  tandem_status_release(tandem_runtime_destroy(box->runtime));
  delete box;
}

// (threads, memory limit, device, exact, fuse)
napi_value CreateRuntime(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime_options options = {};
  options.struct_size = sizeof(options);
  options.num_threads = static_cast<int32_t>(args.Int(0));
  options.memory_limit = static_cast<uint64_t>(args.Int(1));
  const std::string device = args.Text(2);
  options.device = OrNull(device);
  options.exact = args.Bool(3);
  options.no_fusion = !args.Bool(4);
  if (!args.ok()) return nullptr;
  auto box = std::make_unique<RuntimeBox>();
  box->environment = Environment::Of(env);
  if (tandem_status* error = tandem_runtime_create(TANDEM_ABI_VERSION, &options, &box->runtime)) {
    return Throw(env, error);
  }
  box->environment->Add(*box);
  return GivePointer<RuntimeBox, &ReleaseRuntime>(env, box.release());
}

// (runtime)
napi_value DestroyRuntime(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  auto* const box = args.Pointer<RuntimeBox>(0);
  return args.ok() ? Done(env, tandem_runtime_destroy(std::exchange(box->runtime, nullptr))) : nullptr;
}

tandem_runtime* RuntimeOf(Arguments& args) {
  const auto* const box = args.Pointer<RuntimeBox>(0);
  return args.ok() ? box->runtime : nullptr;
}

// (runtime, text): a function of the C interface.
template <tandem_status* (*function)(tandem_runtime*, const char*)>
napi_value WithText(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime* const runtime = RuntimeOf(args);
  const std::string text = args.Text(1);
  return args.ok() ? Done(env, function(runtime, text.c_str())) : nullptr;
}

// (runtime): a function of the C interface.
template <tandem_status* (*function)(tandem_runtime*)>
napi_value WithRuntime(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime* const runtime = RuntimeOf(args);
  return args.ok() ? Done(env, function(runtime)) : nullptr;
}

// (runtime): the definitions of all ops, as JSON.
napi_value RegistryJson(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  char* json = nullptr;
  if (tandem_status* error = tandem_op_registry_json(RuntimeOf(args), &json, nullptr)) return Throw(env, error);
  const napi_value value = MakeText(env, json);
  tandem_free(json);
  return value;
}

// (runtime): [bytes in use, peak, cached]
napi_value Memory(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_memory_stats stats = {};
  stats.struct_size = sizeof(stats);
  if (tandem_status* error = tandem_runtime_memory(RuntimeOf(args), &stats)) return Throw(env, error);
  napi_value numbers;
  args.Check(napi_create_array_with_length(env, 3, &numbers));
  const uint64_t values[] = {stats.bytes_in_use, stats.peak_bytes_in_use, stats.bytes_cached};
  for (uint32_t i = 0; i < 3 && args.ok(); ++i) {
    args.Check(napi_set_element(env, numbers, i, MakeNumber(env, static_cast<double>(values[i]))));
  }
  return args.ok() ? numbers : nullptr;
}

// (runtime, name, json)
napi_value AddSubstitutions(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime* const runtime = RuntimeOf(args);
  const std::string name = args.Text(1);
  const std::string json = args.Text(2);
  return args.ok() ? Done(env, tandem_substitutions_add(runtime, name.c_str(), json.data(), json.size())) : nullptr;
}

// (runtime, name, path)
napi_value LoadSubstitutions(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime* const runtime = RuntimeOf(args);
  const std::string name = args.Text(1);
  const std::string path = args.Text(2);
  return args.ok() ? Done(env, tandem_substitutions_load(runtime, name.c_str(), path.c_str())) : nullptr;
}

// Libraries.

void UnloadOpLibrary(tandem_op_library* library) { tandem_status_release(tandem_op_library_unload(library, nullptr)); }

struct OpLibraryBox {
  tandem_op_library* library;
};

void ReleaseOpLibrary(OpLibraryBox* box) {
  UnloadOpLibrary(box->library);
  delete box;
}

// (runtime, path, location)
napi_value LoadOpLibrary(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  tandem_runtime* const runtime = RuntimeOf(args);
  const std::string path = args.Text(1);
  const std::string location = args.Text(2);
  if (!args.ok()) return nullptr;
  tandem_op_library* library = nullptr;
  tandem_status* const error = tandem_op_library_load(runtime, path.c_str(), OrNull(location), &library);
  if (error != nullptr) return Throw(env, error);
  return GivePointer<OpLibraryBox, &ReleaseOpLibrary>(env, new OpLibraryBox{library});
}

// (library)
napi_value UnloadLibrary(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  auto* const box = args.Pointer<OpLibraryBox>(0);
  if (args.ok()) UnloadOpLibrary(std::exchange(box->library, nullptr));
  return nullptr;
}

// (path)
napi_value LoadTvmLibrary(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const std::string path = args.Text(0);
  if (!args.ok()) return nullptr;
  tandem_tvm_library* library = nullptr;
  if (tandem_status* error = tandem_tvm_library_load(path.c_str(), &library)) return Throw(env, error);
  return GivePointer<tandem_tvm_library, &tandem_tvm_library_release>(env, library);
}

// (library)
napi_value TvmLibraryPath(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const auto* const library = args.Pointer<tandem_tvm_library>(0);
  return args.ok() ? MakeText(env, tandem_tvm_library_path(library)) : nullptr;
}

// (library, function)
napi_value CheckTvmFunction(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  const auto* const library = args.Pointer<tandem_tvm_library>(0);
  const std::string name = args.Text(1);
  return args.ok() ? Done(env, tandem_tvm_library_check(library, name.c_str())) : nullptr;
}

// Calls.

// (runtime, op, tensors, attributes, device, location, number of results)
napi_value Execute(napi_env env, napi_callback_info info) {
  Arguments args(env, info);
  auto* const box = args.Pointer<RuntimeBox>(0);
  const std::string op = args.Text(1);
  std::vector<tandem_tensor*> tensors;
  for (napi_value value : args.List(args[2])) {
    const auto* const box = static_cast<const TensorBox*>(args.Pointer(value));
    tensors.push_back(args.ok() ? box->tensor : nullptr);
  }
  const std::string device = args.Text(4);
  const std::string location = args.Text(5);
  const auto num_results = static_cast<size_t>(args.Int(6));
  const Attributes attributes = ReadAttributes(args, args[3]);
  if (!args.ok()) return nullptr;
  tandem_call_options options = {};
  options.struct_size = sizeof(options);
  options.attrs = attributes.get();
  options.device = OrNull(device);
  options.location = OrNull(location);
  std::vector<tandem_tensor*> results(num_results, nullptr);
  tandem_status* const error =
      tandem_execute(box->runtime, op.c_str(), tensors.data(), tensors.size(), &options, results.data(), num_results);
  TellMemory(env, *box);
  if (error != nullptr) return Throw(env, error);
  napi_value array;
  args.Check(napi_create_array_with_length(env, num_results, &array));
  for (uint32_t i = 0; i < num_results; ++i) {
    const napi_value external = GiveTensor(env, results[i]);
    if (args.ok()) args.Check(napi_set_element(env, array, i, external));
  }
  return args.ok() ? array : nullptr;
}

struct Export {
  const char* name;
  napi_callback function;
};

constexpr Export kExports[] = {
    {"setErrorFactory", &SetErrorFactory},
    {"version", &Version},
    {"createRuntime", &CreateRuntime},
    {"destroyRuntime", &DestroyRuntime},
    {"cancel", &WithText<&tandem_runtime_cancel>},
    {"restart", &WithRuntime<&tandem_runtime_restart>},
    {"memory", &Memory},
    {"registryJson", &RegistryJson},
    {"addDevice", &WithText<&tandem_runtime_add_device>},
    {"addLayers", &WithText<&tandem_layers_add>},
    {"addTvmOps", &WithRuntime<&tandem_runtime_add_tvm_ops>},
    {"addSubstitutions", &AddSubstitutions},
    {"loadSubstitutions", &LoadSubstitutions},
    {"loadOpLibrary", &LoadOpLibrary},
    {"unloadOpLibrary", &UnloadLibrary},
    {"loadTvmLibrary", &LoadTvmLibrary},
    {"tvmLibraryPath", &TvmLibraryPath},
    {"checkTvmFunction", &CheckTvmFunction},
    {"execute", &Execute},
    {"createTensor", &CreateTensor},
    {"createStrings", &CreateStrings},
    {"state", &TensorState},
    {"dtype", &TensorDType},
    {"shape", &TensorShape},
    {"ready", &TensorReady},
    {"view", &TensorView},
    {"strings", &TensorStrings},
    {"text", &TensorText},
    {"address", &TensorAddress},
    {"addressOf", &AddressOf},
    {"releaseTensor", &ReleaseTensor},
};

}  // namespace

}  // namespace tandem::node

NAPI_MODULE_INIT() {
  using tandem::node::Environment;
  if (!Environment::Create(env)) {
    napi_throw_error(env, nullptr, "the environment has no room for Tandem");
    return nullptr;
  }
  for (const auto& [name, function] : tandem::node::kExports) {
    napi_value value;
    if (napi_create_function(env, name, NAPI_AUTO_LENGTH, function, nullptr, &value) != napi_ok ||
        napi_set_named_property(env, exports, name, value) != napi_ok) {
      return nullptr;
    }
  }
  return exports;
}
