// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AddShaderKernel: kernels that are shaders, given as text at run time, for the op handlers of devices that run
// shaders: "vulkan", "webgpu" (DL-3).

#ifndef TANDEM_SHADER_OP_H_
#define TANDEM_SHADER_OP_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/export.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_def.h"
#include "tandem/op_library.h"
#include "tandem/status.h"

namespace tandem {

// A kernel in WGSL. The text is valid WGSL but for what is declared for it, and in the part of it that Vulkan's
// translation takes, too (backends/shader/kernels/README.md): above all, each `let`, `var` and `const` says its type.
//
// Declared for the text are: a buffer for each input and each output under the name that the definition gives it, such
// as `x[i]` and `y[i] = ...;`, row-major, of f32, f16, i32 or u32, which is also what bool is, 0 or 1; for each type
// attribute an alias, such as `T`; the parameters, as `parameters.rows`. The text has either
//
//   fn element(i: u32) { y[i] = x[i] * parameters.factor; }
//
// which is called for each i below the number of invocations, or, for all else,
//
//   fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) { ... }
//
// with the invocation's place in all, its place in the workgroup, the workgroup's place, the number of workgroups, and
// `lid` as one number; invocations beyond those that were asked for fill the last workgroups, and have to do nothing.
// Every element of every output is to be written.
struct ShaderKernel {
  std::string wgsl;
  std::array<uint32_t, 3> workgroup = {64, 1, 1};
  // One to three rules (tandem/shape_rule.h) of how many there are in x, y and z; of `element` one. None: one for each
  // element of output 0.
  std::vector<std::string> invocations{};
  // Numbers for the text: `declaration` is a name or, as in WGSL, "name: i32"; u32, i32 or f32. `value` is a rule, or
  // the name of a float or bool attribute. Without a type a float attribute is f32, all else u32.
  struct Parameter {
    std::string declaration;
    std::string value;
  };
  std::vector<Parameter> parameters{};
};

// Adds a kernel of an op of `library`, or of any other, to `handler`, for those dtypes of the op's that the device
// computes in. The op has a metadata function, such as SetShapes gives (tandem/shape_rule.h), and inputs and outputs
// that are one tensor each.
//
//   OpDefBuilder scale("mine.Scale");
//   scale.Input("x: T").Output("y: T").Attr("T: {float}").Attr("factor: float = 2.0");
//   SetShapes(scale, std::array{std::string("x")});
//   library.Define(scale);
//   AddShaderKernel(library, *vulkan, "mine.Scale", {.wgsl = text, .parameters = {{"factor", "factor"}}});
//
// Unimplemented if the handler runs no shaders; NotFound if the op is not defined; InvalidArgument for all that is
// wrong with the kernel but its text: what the compiler says of that, with the line of the text, is the error of the
// calls. Shaders stay compiled as long as the handler.
TANDEM_EXPORT Status AddShaderKernel(OpLibrary& library, OpHandler& handler, std::string_view op_name,
                                     const ShaderKernel& kernel);

// What makes kernels of shaders; of an op handler.
class TANDEM_EXPORT ShaderKernelMaker {
 public:
  virtual ~ShaderKernelMaker() = default;
  // A kernel and the dtypes that it is for.
  struct Made {
    Kernel kernel;
    DTypeSet dtypes;
  };
  // The kernel does not refer to `def`.
  virtual StatusOr<Made> MakeShaderKernel(const OpDef& def, const ShaderKernel& kernel) = 0;
};

// How an op handler that runs shaders tells its runtime so, before anybody else has it, and in its destructor no more.
// False if memory is exhausted.
[[nodiscard]] TANDEM_EXPORT bool AddShaderOpHandler(KernelOpHandler& handler, ShaderKernelMaker& maker);
TANDEM_EXPORT void RemoveShaderOpHandler(KernelOpHandler& handler);

}  // namespace tandem

#endif  // TANDEM_SHADER_OP_H_
