// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Finds the function, and which tensor of which file each of its inputs is.

#include "tool/program_call.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <system_error>

#include "tandem/safetensors.h"
#include "tool/op_libraries.h"
#include "tool/tensor_files.h"

namespace tandem::tool {

namespace {

// An input of a function: a parameter that is a tensor or a shape.
struct Input {
  std::string name;  // as in the text of the program; empty if that is not known
  eager::Tensor tensor;
};

std::vector<Input> InputsOf(const ProgramFunction& function) {
  std::vector<Input> inputs;
  for (size_t i = 0; i < function.num_parameters; ++i) {
    const ProgramType type = function.value_types[i];
    if (type != ProgramType::kTensor && type != ProgramType::kShape) continue;
    inputs.push_back({i < function.value_names.size() ? function.value_names[i] : std::string(), {}});
  }
  return inputs;
}

// How errors call an input.
std::string NameOf(const std::vector<Input>& inputs, size_t i) {
  return inputs[i].name.empty() ? std::to_string(i) : inputs[i].name;
}

std::string NamesOf(const std::vector<Input>& inputs) {
  std::string names;
  for (size_t i = 0; i < inputs.size(); ++i) names += (i == 0 ? "" : ", ") + NameOf(inputs, i);
  return names;
}

StatusOr<size_t> FindInput(const std::vector<Input>& inputs, const std::string& name) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return i;
  }
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size() && number < inputs.size()) return number;
  if (inputs.empty())
    return MakeError(StatusCode::kNotFound, "expected no input, as the function takes none, got ", name);
  return MakeError(StatusCode::kNotFound, "expected an input of the function, one of ", NamesOf(inputs),
                   " or its number from 0, got ", name);
}

// Of a file that is for one input.
StatusOr<eager::Tensor> PickTensor(const std::vector<FileTensor>& tensors, const InputFileName& input) {
  if (tensors.size() == 1) return tensors[0].tensor;
  for (const FileTensor& tensor : tensors) {
    if (tensor.name == input.input) return tensor.tensor;
  }
  return MakeError(StatusCode::kNotFound, input.file, ": expected one tensor, or one of the name ", input.input,
                   ", got ", tensors.size(), " of other names");
}

// Reads the files, and puts their tensors where they belong.
Status ReadInputs(eager::Runtime& runtime, Console& console, const std::vector<std::string>& texts,
                  std::vector<Input>& inputs) {
  std::vector<eager::Tensor> unnamed;
  for (const std::string& text : texts) {
    const InputFileName input = ParseInput(text);
    std::optional<size_t> which;
    if (!input.input.empty()) {
      TANDEM_ASSIGN_OR_RETURN(which, FindInput(inputs, input.input));
      if (inputs[*which].tensor.IsValid()) {
        return InvalidArgument("expected one file for each input, got another for ", NameOf(inputs, *which), ": ",
                               input.file);
      }
    }
    TANDEM_ASSIGN_OR_RETURN(std::vector<FileTensor> tensors, ReadTensors(runtime, console, input.file));
    if (which) {
      TANDEM_ASSIGN_OR_RETURN(inputs[*which].tensor, PickTensor(tensors, input));
    } else {
      for (FileTensor& tensor : tensors) unnamed.push_back(std::move(tensor.tensor));
    }
  }
  size_t next = 0;
  for (Input& input : inputs) {
    if (!input.tensor.IsValid() && next < unnamed.size()) input.tensor = std::move(unnamed[next++]);
  }
  const auto missing =
      std::find_if(inputs.begin(), inputs.end(), [](const Input& input) { return !input.tensor.IsValid(); });
  if (missing != inputs.end()) {
    return InvalidArgument("expected ", inputs.size(), inputs.size() == 1 ? " input (" : " inputs (", NamesOf(inputs),
                           "), got none for ", NameOf(inputs, static_cast<size_t>(missing - inputs.begin())),
                           "; --input FILE gives one");
  }
  if (next < unnamed.size()) {
    return InvalidArgument("expected ", inputs.size(), inputs.size() == 1 ? " input, got " : " inputs, got ",
                           unnamed.size() - next, " more");
  }
  return Status();
}

StatusOr<const ProgramFunction*> FindFunction(const Program& program, const std::string& name) {
  const ProgramFunction* const found = program.Find(name.empty() ? "main" : name);
  if (found != nullptr) return found;
  if (name.empty() && program.functions().size() == 1) return program.functions().data();
  MessageBuilder names;
  for (const ProgramFunction& function : program.functions()) {
    names.Append(names.view().empty() ? "" : ", ", function.name);
  }
  return MakeError(StatusCode::kNotFound, program.file(), ": expected the function ", name.empty() ? "main" : name,
                   ", got ", names.view().empty() ? "none" : names.view(),
                   name.empty() ? "; --function NAME chooses one" : "");
}

bool NamesHandlers(const Program& program) {
  for (const ProgramFunction& function : program.functions()) {
    for (const ProgramInstruction& instruction : function.instructions) {
      if (instruction.kernel == ProgramKernel::kGetOpHandler) return true;
    }
  }
  return false;
}

Status SetWeights(eager::Runtime& runtime, const std::string& path, ProgramRunner::Options& options) {
  if (path.empty()) {
    options.find_weight = [](std::string_view name) -> StatusOr<TensorHandle> {
      return MakeError(StatusCode::kNotFound, "expected the weight ", name, ", got none; --weights FILE gives them");
    };
    return Status();
  }
  auto opened = eager::SafetensorsFile::Open(path, kNowhere);
  if (!opened.ok()) return opened.status();
  // Shared, since functions are copied.
  const auto file = std::make_shared<eager::SafetensorsFile>(std::move(*opened));
  options.find_weight = [file, &runtime](std::string_view name) -> StatusOr<TensorHandle> {
    return file->Load(runtime, name, kNowhere).TakeHandle();
  };
  return Status();
}

}  // namespace

void AddProgramCallOptions(CLI::App& app, ProgramCallOptions& options) {
  app.add_option("FILE", options.file, "the program: text or the binary form; - is standard input")->required();
  app.add_option("--function", options.function, "what to call; default: main, or the only function")
      ->option_text("NAME");
  app.add_option("--input", options.inputs,
                 "tensors for the function: .npy, .safetensors (all of its tensors, sorted by name, numbers by value) "
                 "or .png (f32 [rows, cols, channels] from 0 to 1); the files are for the inputs in order, or as "
                 "NAME=FILE for that input, by its name or its number from 0")
      ->option_text("[NAME=]FILE")
      ->allow_extra_args(false);
  app.add_option("--weights", options.weights, "the program's weights: .safetensors")->option_text("FILE");
  app.add_option("--threads", options.threads, "of the CPU; 0: one per core")
      ->option_text("N")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--exact", options.exact, "results of the CPU are the same bits on every machine");
  AddOpLibraryOption(app, options.op_libraries);
}

InputFileName ParseInput(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || text.find('/') < equals) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

StatusOr<ProgramCall> ProgramCall::Prepare(eager::Runtime& runtime, Console& console, Devices& devices,
                                           const ProgramCallOptions& options, RcRef<const Program> program,
                                           const std::string& device) {
  TANDEM_ASSIGN_OR_RETURN(const ProgramFunction* const function, FindFunction(*program, options.function));
  std::vector<Input> inputs = InputsOf(*function);
  TANDEM_RETURN_IF_ERROR(ReadInputs(runtime, console, options.inputs, inputs));
  ProgramRunner::Options runner_options;
  TANDEM_RETURN_IF_ERROR(SetWeights(runtime, options.weights, runner_options));
  runner_options.find_op_handler = [&devices](std::string_view name) { return devices.Find(name); };
  if (!device.empty() || !NamesHandlers(*program)) {
    TANDEM_ASSIGN_OR_RETURN(runner_options.op_handler, devices.Find(device.empty() ? "cpu" : device));
  }
  OpHandler* const handler = runner_options.op_handler;
  const std::string name = function->name;
  TANDEM_ASSIGN_OR_RETURN(ProgramRunner runner,
                          ProgramRunner::Create(runtime.core(), std::move(program), std::move(runner_options)));
  TANDEM_ASSIGN_OR_RETURN(const ProgramRunner::Signature signature, runner.SignatureOf(name));
  std::vector<eager::Tensor> tensors;
  for (Input& input : inputs) tensors.push_back(std::move(input.tensor));
  ProgramCall call(runtime, std::move(runner), name, std::move(tensors), handler);
  call.num_results_ = signature.num_results;
  return call;
}

void ProgramCall::MoveInputs() {
  if (handler_ == nullptr || handler_->device() == nullptr) return;
  for (eager::Tensor& input : inputs_) {
    // Strings stay on the host, and what cannot be moved is an error where it is used.
    eager::Tensor moved = input.To(*handler_->device(), kNowhere);
    if (moved.Await(kNowhere).ok()) input = std::move(moved);
  }
}

StatusOr<std::vector<eager::Tensor>> ProgramCall::Run() const {
  HostContext& host = runtime_->host();
  std::vector<TensorHandle> arguments;
  for (const eager::Tensor& input : inputs_) arguments.push_back(input.handle().CopyRef());
  std::vector<TensorHandle> handles(num_results_);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  runner_.Run(function_, ExecutionContext(host, Location()), arguments, handles, &chain);
  std::vector<const AsyncValue*> values = {chain.value()};
  for (const TensorHandle& handle : handles) values.push_back(handle.value().value());
  TANDEM_RETURN_IF_ERROR(host.Await(values));
  // A device's tensor is there as soon as the device has been told to compute it; on the host it is when it has been.
  std::vector<eager::Tensor> results;
  for (TensorHandle& handle : handles) {
    if (handle.IsError()) return handle.GetError();
    results.push_back(eager::Tensor(runtime_, std::move(handle)).To(host.device(), kNowhere));
  }
  for (const eager::Tensor& result : results) TANDEM_RETURN_IF_ERROR(result.Await(kNowhere));
  if (chain.IsError()) return chain.GetError();
  return results;
}

}  // namespace tandem::tool
