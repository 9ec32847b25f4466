// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders are put together in an order that both WGSL and GLSL take: extensions, aliases and constants, buffers, texts.

#include "tandem/shader/shader_source.h"

#include <cassert>
#include <utility>

namespace tandem::shader {

namespace {

constexpr std::string_view kEntryName = "fn main(";

void Append(std::string& out, std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts) out.append(part);
}

// The end of a parameter list that begins behind its opening parenthesis.
size_t EndOfEntryParameters(std::string_view body, size_t begin) { return body.find(')', begin); }

}  // namespace

ShaderBuilder& ShaderBuilder::Buffer(std::string_view name, BufferAccess access, std::string_view element) {
  Append(declarations_,
         {"@group(0) @binding(", std::to_string(text_.buffers.size()), ") var<storage, ",
          access == BufferAccess::kRead ? "read" : "read_write", "> ", name, ": array<", element, ">;\n"});
  text_.buffers.push_back(access);
  return *this;
}

ShaderBuilder& ShaderBuilder::Parameter(std::string_view name, std::string_view type) {
  assert(text_.num_parameters < kMaxParameters);
  Append(parameters_, {"  ", name, ": ", type, ",\n"});
  ++text_.num_parameters;
  return *this;
}

ShaderBuilder& ShaderBuilder::Constant(std::string_view name, std::string_view type, std::string_view value) {
  Append(declarations_, {"const ", name, ": ", type, " = ", value, ";\n"});
  return *this;
}

ShaderBuilder& ShaderBuilder::Alias(std::string_view name, std::string_view type) {
  Append(declarations_, {"alias ", name, " = ", type, ";\n"});
  return *this;
}

ShaderBuilder& ShaderBuilder::Workgroup(uint32_t x, uint32_t y, uint32_t z) {
  text_.workgroup = {x, y, z};
  return *this;
}

ShaderBuilder& ShaderBuilder::Text(std::string_view text) {
  Append(body_, {text, "\n"});
  return *this;
}

ShaderText ShaderBuilder::Finish(std::string_view body) {
  std::string& out = text_.wgsl;
  if (uses_f16_) out += "enable f16;\n";
  if (uses_subgroups_) out += "enable subgroups;\n";
  out += declarations_;
  if (text_.num_parameters > 0) {
    Append(out, {"struct Parameters {\n", parameters_, "}\n@group(0) @binding(", std::to_string(text_.buffers.size()),
                 ") var<uniform> parameters: Parameters;\n"});
  }
  out += body_;
  const size_t entry = body.find(kEntryName);
  assert(entry != std::string_view::npos);
  const auto [x, y, z] = text_.workgroup;
  Append(out, {body.substr(0, entry), "@compute @workgroup_size(", std::to_string(x), ", ", std::to_string(y), ", ",
               std::to_string(z), ")\n",
               "fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(local_invocation_id) lid: vec3u, "
               "@builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) nwg: vec3u, "
               "@builtin(local_invocation_index) lidx: u32",
               body.substr(EndOfEntryParameters(body, entry + kEntryName.size()))});
  return std::move(text_);
}

}  // namespace tandem::shader
