// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "spirv.h"

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>

#include <memory>
#include <string_view>

namespace tandem::vulkan {
namespace {

struct DeleteShader {
  void operator()(glslang_shader_t* shader) const { glslang_shader_delete(shader); }
};
struct DeleteProgram {
  void operator()(glslang_program_t* program) const { glslang_program_delete(program); }
};

// Several lines in one, without what is the same in every message.
std::string OneLine(std::string_view log) {
  std::string text;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.starts_with("ERROR: ")) line.remove_prefix(7);
    if (line.empty() || line.find("compilation errors") != std::string_view::npos) continue;
    if (!text.empty()) text += "; ";
    text += line;
  }
  return text;
}

}  // namespace

// glslang counts these calls.
SpirvCompiler::SpirvCompiler() { glslang_initialize_process(); }
SpirvCompiler::~SpirvCompiler() { glslang_finalize_process(); }

StatusOr<std::vector<uint32_t>> SpirvCompiler::Compile(const std::string& glsl) const {
  glslang_input_t input = {};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_1;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_3;
  input.code = glsl.c_str();
  input.default_version = 450;
  input.default_profile = GLSLANG_CORE_PROFILE;
  input.messages = static_cast<glslang_messages_t>(GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT);
  input.resource = glslang_default_resource();

  const std::unique_ptr<glslang_shader_t, DeleteShader> shader(glslang_shader_create(&input));
  if (shader == nullptr) return Status::OutOfMemory();
  if (!glslang_shader_preprocess(shader.get(), &input) || !glslang_shader_parse(shader.get(), &input)) {
    return InvalidArgument("the shader does not compile: ", OneLine(glslang_shader_get_info_log(shader.get())));
  }
  const std::unique_ptr<glslang_program_t, DeleteProgram> program(glslang_program_create());
  if (program == nullptr) return Status::OutOfMemory();
  glslang_program_add_shader(program.get(), shader.get());
  if (!glslang_program_link(program.get(), input.messages)) {
    return InvalidArgument("the shader does not link: ", OneLine(glslang_program_get_info_log(program.get())));
  }
  glslang_spv_options_t options = {};
  options.disable_optimizer = true;
  glslang_program_SPIRV_generate_with_options(program.get(), GLSLANG_STAGE_COMPUTE, &options);
  std::vector<uint32_t> words(glslang_program_SPIRV_get_size(program.get()));
  if (words.empty()) return Internal("expected SPIR-V of glslang, got none");
  glslang_program_SPIRV_get(program.get(), words.data());
  return words;
}

}  // namespace tandem::vulkan
