// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the CPU computes CUDA does, too: kernels of every op and dtype, but for those that are listed here with a
// reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cuda_test_fixture.h"
#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/op_families.h"
#include "tandem/shader/shader_op_handler.h"
#include "test_runtime.h"

namespace tandem::cuda {
namespace {

struct Exception {
  std::string_view op;  // a prefix
  std::string_view reason;
};

// What stays on the host. The results of some ops have sizes that only the data tells, with no bound that a program
// could allocate memory by before the device has seen it: a kernel would have to wait for the device twice, while the
// host reads what is small, the indices and splits, and is done with it (Where, Unique and their like have a bound, and
// are kernels).
constexpr Exception kExceptions[] = {
    {"test.", "tests of the runtime, on the host"},
    {"tandem.ToDense", "representations of the host"},
    {"tandem.ToScalar", "representations of the host"},
    {"tandem.ToSparseCoo", "representations of the host"},
    {"tf.Assert", "its effect is on the host"},
    {"tf.BroadcastArgs", "of shapes, which the host reads next"},
    {"tf.NonMaxSuppressionV3", "whether a box is kept depends on those before it, one after the other"},
    {"tf.NonMaxSuppressionV4", "whether a box is kept depends on those before it, one after the other"},
    {"tf.NonMaxSuppressionV5", "whether a box is kept depends on those before it, one after the other"},
    {"tf.PrintV2", "its effect is on the host"},
    {"tf.RaggedGather", "the size of the result has no bound but the data"},
    {"tf.RaggedRange", "the size of the result has no bound but the data"},
    {"tf.RaggedTensorToTensor", "the size of the result has no bound but the data"},
    {"tf.SparseFillEmptyRows", "the size of the result has no bound but the data"},
    {"tf.SparseReshape", "of shapes, which the host reads next; indices that are wrong are errors"},
    {"tf.SparseSegmentMean", "the size of the result has no bound but the data"},
    {"tf.SparseSegmentSum", "the size of the result has no bound but the data"},
    {"tf.StaticRegexReplace", "strings, which are on the host"},
    {"tf.StringNGrams", "strings, which are on the host"},
    {"tf.StringSplit", "strings, which are on the host"},
    {"tf.StringSplitV2", "strings, which are on the host"},
    {"tf.StringToHashBucketFast", "strings, which are on the host"},
};

std::string_view FindReason(std::string_view op) {
  for (const Exception& exception : kExceptions) {
    if (op.starts_with(exception.op)) return exception.reason;
  }
  return {};
}

class CudaKernelsTest : public CudaTest {
 protected:
  CudaKernelsTest() : runtime_(TestRuntime::WithWorkers(0)) {
    EXPECT_TRUE(RegisterAllOps(runtime_.registry()).ok());
    const StatusOr<KernelOpHandler*> cpu = CreateCpuOpHandler(runtime_);
    EXPECT_TRUE(cpu.ok()) << cpu.status().ToString();
    cpu_ = *cpu;
    StatusOr<std::unique_ptr<CudaQueue>> queue = TryMakeQueue();
    EXPECT_TRUE(queue.ok()) << queue.status().ToString();
    shader::ShaderOpHandlerOptions options;
    options.name = "cuda";
    const StatusOr<shader::ShaderOpHandler*> cuda = shader::CreateShaderOpHandler(runtime_, std::move(*queue), options);
    EXPECT_TRUE(cuda.ok()) << cuda.status().ToString();
    cuda_handler_ = *cuda;
  }

  // The dtypes that the CPU has a kernel of `op` for and CUDA none; kInvalid is that of ops without a type attribute.
  DTypeSet Missing(const OpDef& def) const {
    const std::string_view op = def.name;
    const DTypeSet allowed = def.kernel_type_attr < 0
                                 ? DTypeSet{DType::kInvalid}
                                 : def.attrs[static_cast<size_t>(def.kernel_type_attr)].allowed_dtypes;
    DTypeSet missing;
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (dtype == DType::kString || !allowed.Contains(dtype)) continue;
      if (cpu_->HasKernel(op, dtype) && !cuda_handler_->HasKernel(op, dtype)) missing.Insert(dtype);
    }
    return missing;
  }

  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
  shader::ShaderOpHandler* cuda_handler_ = nullptr;
};

TEST_F(CudaKernelsTest, CoverWhatTheCpuHas) {
  std::string missing;
  for (const OpDef* op : runtime_.registry().List()) {
    const DTypeSet dtypes = Missing(*op);
    if (dtypes.IsEmpty() || !FindReason(op->name).empty()) continue;
    missing += "\n" + std::string(op->name) + ":";
    for (int i = 0; i < kNumDTypes; ++i) {
      if (dtypes.Contains(static_cast<DType>(i))) missing += " " + std::string(DTypeName(static_cast<DType>(i)));
    }
  }
  EXPECT_EQ(missing, "");
}

// An exception that is none any more goes out of the list.
TEST_F(CudaKernelsTest, EachExceptionIsOne) {
  const std::vector<const OpDef*> ops = runtime_.registry().List();
  for (const Exception& exception : kExceptions) {
    EXPECT_TRUE(std::any_of(ops.begin(), ops.end(), [&](const OpDef* op) {
      return std::string_view(op->name).starts_with(exception.op) && !Missing(*op).IsEmpty();
    })) << exception.op;
  }
}

}  // namespace
}  // namespace tandem::cuda
