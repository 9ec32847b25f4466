// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs: loaded, described and written. Their functions are called in execute.cc.

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "objects.h"

namespace tandem::c {

namespace {

// The program of a C caller, if its arguments are right.
StatusOr<RcRef<const Program>> Read(const void* data, size_t size, const char* name) {
  if (size > 0 && data == nullptr) return InvalidArgument("expected a program of ", size, " bytes, got null");
  return Program::Read({static_cast<const std::byte*>(data), size}, name == nullptr ? "program" : name);
}

}  // namespace

StatusOr<TensorHandle> WeightOf(const tandem_runtime& runtime, std::string_view name, const tandem_tensor* tensor) {
  if (tensor == nullptr)
    return MakeError(StatusCode::kNotFound, "expected a tensor as the weight ", name, ", got none");
  if (tensor->runtime.get() != &runtime) return InvalidArgument("the weight ", name, " is of another runtime");
  return tensor->handle.CopyRef();
}

tandem_status* GiveProgram(tandem_runtime& runtime, RcRef<const Program> program, const char* device,
                           ProgramRunner::Options options, tandem_program** given) {
  TANDEM_C_FIND_RUNTIME(rt, &runtime, "runtime");
  if (device != nullptr) {
    const auto handler = FindDevice(*rt, device);
    if (!handler.ok()) return ToC(handler.status());
    options.op_handler = *handler;
  }
  auto runner = ProgramRunner::Create(rt->core, std::move(program), std::move(options));
  if (!runner.ok()) return ToC(runner.status());
  *given = new (std::nothrow) tandem_program(runtime, *std::move(runner));
  return *given == nullptr ? ToC(Status::OutOfMemory()) : nullptr;
}

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_program_load(tandem_runtime* runtime, const void* data, size_t size, const char* name,
                                   const tandem_program_options* options, tandem_program** program) {
  if (program == nullptr) return WrongArgument("expected a place for the program, got null");
  *program = nullptr;
  if (const auto rt = FindRuntime(runtime, "runtime"); !rt.ok()) return ToC(rt.status());
  tandem_program_options chosen;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(options, TANDEM_C_LEAST_SIZE(tandem_program_options, weight_user), &chosen));
  auto read = Read(data, size, name);
  if (!read.ok()) return ToC(read.status());
  tandem::ProgramRunner::Options made;
  made.source = {static_cast<const char*>(data), size};
  if (chosen.weight != nullptr) {
    made.find_weight = [runtime, chosen](std::string_view weight) {
      const CallbackScope scope(runtime);
      return WeightOf(*runtime, weight, chosen.weight(chosen.weight_user, std::string(weight).c_str()));
    };
  }
  return GiveProgram(*runtime, *std::move(read), chosen.device, std::move(made), program);
}

void tandem_program_release(tandem_program* program) { delete program; }

const char* tandem_program_function(const tandem_program* program, size_t index) {
  if (!FindRuntime(program, "program").ok()) return nullptr;
  const auto functions = program->runner->program().functions();
  return index < functions.size() ? functions[index].name.c_str() : nullptr;
}

tandem_status* tandem_program_signature(const tandem_program* program, const char* function, size_t* num_args,
                                        size_t* num_results) {
  if (num_args == nullptr || num_results == nullptr) {
    return WrongArgument("expected places for the numbers of arguments and results, got null");
  }
  *num_args = *num_results = 0;
  if (const auto rt = FindRuntime(program, "program"); !rt.ok()) return ToC(rt.status());
  if (function == nullptr) return WrongArgument("expected the name of a function, got null");
  const auto signature = program->runner->SignatureOf(function);
  if (!signature.ok()) return ToC(signature.status());
  *num_args = signature->num_arguments;
  *num_results = signature->num_results;
  return nullptr;
}

tandem_status* tandem_program_text(const tandem_program* program, char** text, size_t* size) {
  if (text == nullptr) return WrongArgument("expected a place for the text, got null");
  *text = nullptr;
  if (size != nullptr) *size = 0;
  if (const auto rt = FindRuntime(program, "program"); !rt.ok()) return ToC(rt.status());
  return GiveText(program->runner->program().ToText(), text, size);
}

tandem_status* tandem_program_bytes(const tandem_program* program, void** bytes, size_t* size) {
  if (bytes == nullptr || size == nullptr)
    return WrongArgument("expected places for the bytes and their size, got null");
  *bytes = nullptr;
  *size = 0;
  if (const auto rt = FindRuntime(program, "program"); !rt.ok()) return ToC(rt.status());
  const std::vector<std::byte> written = program->runner->program().ToBytes();
  char* copy = nullptr;
  tandem_status* error = GiveText({reinterpret_cast<const char*>(written.data()), written.size()}, &copy, size);
  *bytes = copy;
  return error;
}

}  // extern "C"
