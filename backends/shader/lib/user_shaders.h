// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// UserShaders: kernels of shaders that come as text at run time (tandem/shader_op.h).

#ifndef TANDEM_BACKENDS_SHADER_LIB_USER_SHADERS_H_
#define TANDEM_BACKENDS_SHADER_LIB_USER_SHADERS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "tandem/shader/shader_source.h"
#include "tandem/shader_op.h"

namespace tandem::shader {

struct UserShader;

// Of one op handler, whose device knows pipelines by their sources, so that these live as long. Thread-safe.
class UserShaders final : public ShaderKernelMaker {
 public:
  explicit UserShaders(const GpuLimits& limits);
  ~UserShaders() override;

  StatusOr<Made> MakeShaderKernel(const OpDef& def, const ShaderKernel& kernel) override;

 private:
  const GpuLimits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const UserShader>> shaders_;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_LIB_USER_SHADERS_H_
