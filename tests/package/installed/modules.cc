// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads a device from a module that a stranger has built, from C++ and from C.
// usage: modules MODULE [refused]   with `refused`, for a program that the module must not serve

#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tandem.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "tandem/op_handler_module.h"

namespace {

void Expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("unexpected: " + what);
}

void Check(const tandem::Status& status) { Expect(status.ok(), status.ToString()); }

template <typename T>
T Value(tandem::StatusOr<T> value) {
  Check(value.status());
  return std::move(*value);
}

void ExpectError(const tandem::Status& status, tandem::StatusCode code, std::string_view part) {
  Expect(status.code() == code && status.message().find(part) != std::string_view::npos, status.ToString());
}

// What tf.Neg of 1, 2, 3 gives on a handler.
std::string Negated(tandem::CoreRuntime& runtime, tandem::OpHandler* handler) {
  tandem::HostContext& host = runtime.host();
  const float values[] = {1, 2, 3};
  const auto x = Value(
      tandem::MakeDense({tandem::DType::kF32, {3}}, std::as_bytes(std::span(values)), host.device(), host.allocator()));
  tandem::TensorHandle args[] = {tandem::TensorHandle::MakeAvailable(x)};
  tandem::TensorHandle result;
  runtime.Execute("tf.Neg", handler, tandem::Location::Current(), args, tandem::OpAttrs(), {&result, 1});
  const tandem::ExecutionContext exec(host, tandem::Location::Current());
  const tandem::TensorHandle there = result.TransferTo(exec, host.device());
  Check(host.Await(there));
  std::string text(result.device()->name());
  for (const float y : tandem::DenseData<float>(there.tensor())) text += " " + std::to_string(static_cast<int>(y));
  return text;
}

void LoadFromCpp(const std::string& module) {
  tandem::CoreRuntime runtime(tandem::HostContext::Options{});
  Check(tandem::RegisterAllOps(runtime.registry()));
  tandem::OpHandler* const cpu = Value(tandem::CreateCpuOpHandler(runtime));
  using tandem::StatusCode;
  ExpectError(tandem::LoadOpHandler(runtime, "/nowhere/none.so").status(), StatusCode::kNotFound,
              "expected the module /nowhere/none.so");
  ExpectError(tandem::LoadOpHandler(runtime, "none").status(), StatusCode::kNotFound, "libtandem_none.so.");
  tandem::OpAttrs unknown;
  unknown.Set("colour", "blue");
  ExpectError(tandem::LoadOpHandler(runtime, module, cpu, unknown).status(), StatusCode::kInvalidArgument,
              "expected settings that the handler has, got colour");
  tandem::OpAttrs wrong;
  wrong.Set("factor", "two");
  ExpectError(tandem::LoadOpHandler(runtime, module, cpu, wrong).status(), StatusCode::kInvalidArgument,
              "expected the setting factor as i64, got string");
  tandem::OpAttrs settings;
  settings.Set("factor", int64_t{3});
  const std::string got = Negated(runtime, Value(tandem::LoadOpHandler(runtime, module, cpu, settings)));
  Expect(got == "null 3 6 9", got);
}

void LoadFromC(const std::string& module) {
  tandem_runtime* runtime = nullptr;
  Expect(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &runtime) == nullptr, "no runtime");
  tandem_status* status = tandem_runtime_load_device(runtime, "/nowhere/none.so", nullptr);
  Expect(tandem_status_code(status) == TANDEM_NOT_FOUND, "a module that is nowhere");
  tandem_status_release(status);
  tandem_attrs* settings = nullptr;
  Expect(tandem_attrs_create(&settings) == nullptr, "no attributes");
  tandem_attrs_set_int(settings, "factor", 5);
  status = tandem_runtime_load_device(runtime, module.c_str(), settings);
  Expect(status == nullptr, status == nullptr ? "" : tandem_status_message(status));
  tandem_attrs_release(settings);
  Expect(tandem_runtime_add_device(runtime, "null") == nullptr, "the device is not there by its name");
  Expect(tandem_runtime_destroy(runtime) == nullptr, "the runtime does not end");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Expect(argc >= 2, "no module");
    if (argc > 2) {
      tandem::CoreRuntime runtime(tandem::HostContext::Options{});
      ExpectError(tandem::LoadOpHandler(runtime, argv[1]).status(), tandem::StatusCode::kFailedPrecondition,
                  "expected a program that links the shared library");
    } else {
      LoadFromCpp(argv[1]);
      LoadFromC(argv[1]);
    }
    std::cout << "modules: ok" << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "modules: " << error.what() << std::endl;
    return 1;
  }
}
