// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is declared for a text stands in front of it in one line, so that the lines in compilers' messages are its own.

#include "user_shaders.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/element_types.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shape_rule.h"

namespace tandem::shader {

// One kernel's text, and what a call's launch is computed from. A variant's values are the dtypes of its buffers.
struct UserShader : ShaderSource {
  struct Buffer {
    std::string name;
    BufferAccess access;
  };
  struct Alias {
    std::string name;
    size_t buffer;  // whose dtype it is
  };
  enum class ParameterType : uint8_t { kU32, kI32, kF32 };
  struct Parameter {
    std::string name;
    ParameterType type = ParameterType::kU32;
    std::optional<SizeRule> rule;
    std::string attr;  // of float or bool, if there is no rule
  };

  std::string op_name;
  std::string wgsl;
  bool is_by_element = false;
  DTypeSet dtypes;  // of all buffers
  size_t num_inputs = 0;
  std::vector<Buffer> buffers;
  std::vector<Alias> aliases;
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> workgroup;
  std::vector<SizeRule> invocations;
};

namespace {

constexpr std::string_view kElement = "fn element(";
constexpr std::string_view kMain = "fn main(";
constexpr std::string_view kTypeNames[] = {"u32", "i32", "f32"};
// One is kept for the number of elements.
constexpr size_t kMostParameters = kMaxParameters - 1;
constexpr std::string_view kCount = "w_count";

ShaderText ComposeUserShader(const ShaderSource& source, std::span<const int32_t> values) {
  const auto& shader = static_cast<const UserShader&>(source);
  ShaderBuilder builder(shader.name);
  const auto dtype = [&values](size_t i) { return static_cast<DType>(values[i]); };
  for (const UserShader::Alias& alias : shader.aliases) builder.Alias(alias.name, StorageType(dtype(alias.buffer)));
  for (size_t i = 0; i < shader.buffers.size(); ++i) {
    if (dtype(i) == DType::kF16) builder.UseF16();
    builder.Buffer(shader.buffers[i].name, shader.buffers[i].access, StorageType(dtype(i)));
  }
  for (const UserShader::Parameter& parameter : shader.parameters) {
    builder.Parameter(parameter.name, kTypeNames[static_cast<int>(parameter.type)]);
  }
  if (shader.is_by_element) builder.Parameter(kCount);
  builder.Workgroup(shader.workgroup[0], shader.workgroup[1], shader.workgroup[2]);
  std::string body = shader.wgsl;
  if (shader.is_by_element) {
    const uint32_t size = shader.workgroup[0] * shader.workgroup[1] * shader.workgroup[2];
    body += "\nfn main() {\n  let w_i: u32 = (wid.y * nwg.x + wid.x) * " + std::to_string(size) +
            "u + lidx;\n  if (w_i < parameters." + std::string(kCount) + ") { element(w_i); }\n}\n";
  }
  // The builder has no parameters of `main` in its place, nor the lines that they take.
  const size_t entry = body.find(kMain);
  const auto lines = std::count(body.begin() + static_cast<ptrdiff_t>(entry),
                                body.begin() + static_cast<ptrdiff_t>(body.find(')', entry)), '\n');
  body.insert(entry, "/*text*/" + std::string(static_cast<size_t>(lines), '\n'));
  ShaderText text = builder.Finish("/*text*/" + body);
  const size_t begin = text.wgsl.find("/*text*/");
  const size_t attributes = text.wgsl.rfind("@compute");
  std::replace(text.wgsl.begin(), text.wgsl.begin() + static_cast<ptrdiff_t>(begin), '\n', ' ');
  text.wgsl[text.wgsl.find('\n', attributes)] = ' ';
  return text;
}

Status AddUserParameters(const UserShader& shader, const RuleFrame& frame, LaunchParameters& parameters) {
  for (const UserShader::Parameter& parameter : shader.parameters) {
    int64_t number = 0;
    if (parameter.rule.has_value()) {
      TANDEM_ASSIGN_OR_RETURN(number, parameter.rule->Evaluate(frame));
    } else {
      float real = 0;
      bool flag = false;
      if (frame.attrs.Get(parameter.attr, &real)) {
        parameters.AddFloat(real);
        continue;
      }
      frame.attrs.Get(parameter.attr, &flag);
      number = flag ? 1 : 0;
    }
    if (parameter.type == UserShader::ParameterType::kF32) {
      parameters.AddFloat(static_cast<float>(number));
      continue;
    }
    const bool is_signed = parameter.type == UserShader::ParameterType::kI32;
    const int64_t least = is_signed ? INT32_MIN : 0;
    const int64_t most = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
    if (number < least || number > most) {
      return InvalidArgument("parameter ", std::string_view(parameter.name), " of the shader must be ", least, " to ",
                             most, ", got ", number);
    }
    parameters.Add(static_cast<uint32_t>(number));
  }
  return Status();
}

Status FillUserLaunch(const UserShader& shader, const RuleFrame& frame, const GpuLimits& limits, Launch& launch) {
  TANDEM_RETURN_IF_ERROR(AddUserParameters(shader, frame, launch.parameters));
  std::array<uint64_t, 3> counts = {1, 1, 1};
  if (shader.invocations.empty()) counts[0] = static_cast<uint64_t>(frame.results[0].num_elements());
  for (size_t i = 0; i < shader.invocations.size(); ++i) {
    TANDEM_ASSIGN_OR_RETURN(const int64_t count, shader.invocations[i].Evaluate(frame));
    if (count < 0) return InvalidArgument("the shader must have 0 or more invocations, got ", count);
    counts[i] = static_cast<uint64_t>(count);
  }
  if (shader.is_by_element) {
    if (counts[0] > UINT32_MAX) {
      return ResourceExhausted("expected at most ", UINT32_MAX, " elements for a shader, got ", counts[0]);
    }
    launch.parameters.Add(static_cast<uint32_t>(counts[0]));
    const uint32_t size = shader.workgroup[0] * shader.workgroup[1] * shader.workgroup[2];
    launch.workgroups = LinearWorkgroups(counts[0], size, limits);
    return Status();
  }
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t groups = counts[i] / shader.workgroup[i] + (counts[i] % shader.workgroup[i] != 0 ? 1 : 0);
    // Too many are left too many: ShaderCall says so.
    launch.workgroups[i] = static_cast<uint32_t>(std::min<uint64_t>(groups, UINT32_MAX));
  }
  return Status();
}

Status RunUserShader(const void* closure, KernelFrame& frame) {
  const auto& shader = *static_cast<const UserShader*>(closure);
  ShaderCall call(frame);
  std::array<GpuBuffer*, ShaderCall::kMaxBuffers> buffers;
  std::array<const TensorMetadata*, ShaderCall::kMaxBuffers> args;
  std::array<TensorMetadata, ShaderCall::kMaxBuffers> results;
  const size_t count = shader.buffers.size();
  const size_t num_results = count - shader.num_inputs;
  Launch launch;
  launch.variant.source = &shader;
  for (size_t i = 0; i < count; ++i) {
    const bool is_input = i < shader.num_inputs;
    if (is_input) {
      args[i] = &frame.arg(i).metadata();
    } else {
      results[i - shader.num_inputs] = frame.result_metadata(i - shader.num_inputs);
    }
    const DType dtype = is_input ? args[i]->dtype : results[i - shader.num_inputs].dtype;
    if (!shader.dtypes.Contains(dtype)) {
      return MakeError(StatusCode::kUnimplemented, "the shader of the op takes ", shader.dtypes, ", got ",
                       std::string_view(shader.buffers[i].name), " of ", dtype);
    }
    launch.variant.values[i] = static_cast<int32_t>(dtype);
    buffers[i] = is_input ? call.Argument(i) : call.Result(i - shader.num_inputs);
  }
  const RuleFrame rules = {{args.data(), shader.num_inputs}, frame.attrs(), {results.data(), num_results}};
  TANDEM_RETURN_IF_ERROR(FillUserLaunch(shader, rules, call.limits(), launch));
  call.Run(launch, {buffers.data(), count});
  return call.Finish();
}

// Makes a UserShader of what the user gave.
class UserShaderReader {
 public:
  UserShaderReader(const OpDef& def, const ShaderKernel& kernel, const GpuLimits& limits, UserShader& shader)
      : def_(def), kernel_(kernel), limits_(limits), shader_(shader) {}

  Status Read() {
    shader_.op_name = def_.name;
    shader_.name = shader_.op_name;
    shader_.compose = &ComposeUserShader;
    shader_.wgsl = kernel_.wgsl;
    shader_.text = shader_.wgsl;
    shader_.dtypes = AllDTypes(limits_);
    TANDEM_RETURN_IF_ERROR(ReadEntry());
    TANDEM_RETURN_IF_ERROR(ReadWorkgroup());
    TANDEM_RETURN_IF_ERROR(ReadArguments());
    for (const std::string& text : kernel_.invocations) {
      auto rule = SizeRule::Parse(text, def_, /*sees_results=*/true);
      if (!rule.ok()) return InvalidArgument("invocations: ", rule.status().message());
      shader_.invocations.push_back(*std::move(rule));
    }
    if (kernel_.parameters.size() > kMostParameters) {
      return InvalidArgument("expected at most ", kMostParameters, " parameters, got ", kernel_.parameters.size());
    }
    for (const ShaderKernel::Parameter& parameter : kernel_.parameters) {
      TANDEM_RETURN_IF_ERROR(ReadParameter(parameter));
    }
    return Status();
  }

 private:
  Status ReadEntry() {
    const size_t main = kernel_.wgsl.find(kMain);
    shader_.is_by_element = main == std::string::npos;
    const bool has_entry = shader_.is_by_element ? kernel_.wgsl.find(kElement) != std::string::npos
                                                 : kernel_.wgsl.find(')', main) != std::string::npos;
    if (!has_entry)
      return InvalidArgument("expected a shader with 'fn element(i: u32)' or 'fn main(...)', got neither");
    const size_t most = shader_.is_by_element ? 1 : 3;
    if (kernel_.invocations.size() <= most) return Status();
    return InvalidArgument("expected at most ", most, " numbers of invocations, got ", kernel_.invocations.size());
  }

  Status ReadWorkgroup() {
    shader_.workgroup = kernel_.workgroup;
    uint64_t size = 1;
    for (uint32_t count : kernel_.workgroup) {
      if (count == 0 || count > limits_.max_invocations) size = 0;
      size *= count;
    }
    if (size > 0 && size <= limits_.max_invocations && kernel_.workgroup[2] <= limits_.max_workgroup_z) return Status();
    const auto [x, y, z] = kernel_.workgroup;
    return InvalidArgument("expected a workgroup of 1 to ", limits_.max_invocations, " invocations, at most ",
                           limits_.max_workgroup_z, " in z, got [", x, ",", y, ",", z, "]");
  }

  Status ReadArguments() {
    if (def_.metadata == nullptr) {
      return InvalidArgument("expected an op whose shapes are known before its kernel runs, got none for its outputs");
    }
    shader_.num_inputs = def_.inputs.size();
    const size_t count = def_.inputs.size() + def_.outputs.size();
    const size_t most = std::min<size_t>(limits_.max_storage_buffers, ShaderCall::kMaxBuffers);
    if (count > most || def_.outputs.empty()) {
      return InvalidArgument("expected 1 or more outputs, and with the inputs at most ", most, ", got ", count);
    }
    if (def_.has_side_effects) return InvalidArgument("expected an op without side effects for a shader");
    for (const ArgDef& input : def_.inputs) TANDEM_RETURN_IF_ERROR(AddBuffer(input, BufferAccess::kRead));
    for (const ArgDef& output : def_.outputs) TANDEM_RETURN_IF_ERROR(AddBuffer(output, BufferAccess::kReadWrite));
    return Status();
  }

  Status AddBuffer(const ArgDef& arg, BufferAccess access) {
    const std::string_view name = arg.name;
    if (arg.IsVariadic() || arg.host_input) {
      return InvalidArgument("expected arguments that are one tensor on the device each, got ", name);
    }
    if (arg.dtype != DType::kInvalid && !shader_.dtypes.Contains(arg.dtype)) {
      return InvalidArgument("expected dtypes of ", shader_.dtypes, " for a shader, got ", name, " of ", arg.dtype);
    }
    const auto is_of = [&](const UserShader::Alias& alias) {
      return arg.type_attr >= 0 && alias.name == def_.attrs[arg.type_attr].name;
    };
    if (arg.type_attr >= 0 && std::ranges::none_of(shader_.aliases, is_of)) {
      shader_.aliases.push_back({def_.attrs[arg.type_attr].name, shader_.buffers.size()});
    }
    shader_.buffers.push_back({arg.name, access});
    return Status();
  }

  Status ReadParameter(const ShaderKernel::Parameter& parameter) {
    using Type = UserShader::ParameterType;
    UserShader::Parameter read;
    const int attr = def_.FindAttr(parameter.value);
    const AttrKind kind = attr < 0 || def_.attrs[attr].is_list ? AttrKind::kInt : def_.attrs[attr].kind;
    const size_t colon = parameter.declaration.find(':');
    read.name = parameter.declaration.substr(0, colon);
    std::erase(read.name, ' ');
    const auto fail = [&](const auto&... parts) {
      return InvalidArgument("parameter ", std::string_view(parameter.declaration), ": ", parts...);
    };
    if (read.name.empty()) return fail("expected a name, got none");
    if (colon == std::string::npos) {
      read.type = kind == AttrKind::kFloat ? Type::kF32 : Type::kU32;
    } else {
      std::string type = parameter.declaration.substr(colon + 1);
      std::erase(type, ' ');
      const auto found = std::ranges::find(kTypeNames, type);
      if (found == std::end(kTypeNames)) return fail("expected the type u32, i32 or f32");
      read.type = static_cast<Type>(found - std::begin(kTypeNames));
    }
    if (kind == AttrKind::kFloat || kind == AttrKind::kBool) {
      if (kind == AttrKind::kFloat && read.type != Type::kF32)
        return fail("expected the type f32 for a float attribute");
      read.attr = parameter.value;
    } else {
      auto rule = SizeRule::Parse(parameter.value, def_, /*sees_results=*/true);
      if (!rule.ok()) return fail(rule.status().message());
      read.rule = *std::move(rule);
    }
    shader_.parameters.push_back(std::move(read));
    return Status();
  }

  const OpDef& def_;
  const ShaderKernel& kernel_;
  const GpuLimits& limits_;
  UserShader& shader_;
};

}  // namespace

UserShaders::UserShaders(const GpuLimits& limits) : limits_(limits) {}
UserShaders::~UserShaders() = default;

StatusOr<ShaderKernelMaker::Made> UserShaders::MakeShaderKernel(const OpDef& def, const ShaderKernel& kernel) {
  auto shader = std::make_unique<UserShader>();
  TANDEM_RETURN_IF_ERROR(UserShaderReader(def, kernel, limits_, *shader).Read());
  DTypeSet dtypes = {DType::kInvalid};
  if (def.kernel_type_attr >= 0) {
    dtypes = def.attrs[def.kernel_type_attr].allowed_dtypes & shader->dtypes;
    if (dtypes.IsEmpty()) {
      return InvalidArgument("expected one of the dtypes ", shader->dtypes, " for a shader, got an op of ",
                             def.attrs[def.kernel_type_attr].allowed_dtypes);
    }
  }
  static constexpr const KernelContext* kContexts[] = {&ShaderDevice::kKernelContext, nullptr};
  KernelSignature signature;
  signature.num_args = static_cast<int16_t>(def.inputs.size());
  signature.num_results = static_cast<int16_t>(def.outputs.size());
  signature.contexts = kContexts;
  // The shader lives as long as the handler: nothing is to end with the kernel.
  const std::shared_ptr<const void> closure(std::shared_ptr<const void>(), shader.get());
  const std::lock_guard lock(mutex_);
  shaders_.push_back(std::move(shader));
  return Made{Kernel(&RunUserShader, closure, signature), dtypes};
}

}  // namespace tandem::shader
