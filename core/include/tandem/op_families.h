// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The families of op definitions, and registration of each; whoever wants few ops registers few families (OR-2).

#ifndef TANDEM_OP_FAMILIES_H_
#define TANDEM_OP_FAMILIES_H_

#include "tandem/export.h"
#include "tandem/op_registry.h"
#include "tandem/status.h"

// The list that all registration follows, in this order: definitions here, kernels in the backends. `of_all(Name)` is a
// family that devices of every kind have kernels for, `of_host(Name)` one for the CPU alone. A family `Name` has
// RegisterNameOps, in core/ops/name.cc, and RegisterNameKernels, in kernels/name/name.cc of each backend.
#define TANDEM_OP_FAMILIES(of_all, of_host)                                \
  of_host(Conversion)       /* between the tensor types of the host */     \
      of_all(Convolution)   /* Conv2D, depthwise, their gradients */       \
      of_all(Counting)      /* Bincount, LowerBound, UpperBound */         \
      of_all(Creation)      /* Const, Fill, OneHot, ... */                 \
      of_all(Elementwise)   /* arithmetic, functions, comparisons, Cast */ \
      of_all(Image)         /* ResizeBilinear, CropAndResize, ... */       \
      of_all(Indexing)      /* GatherV2, ScatterNd, TopKV2, Where, ... */  \
      of_all(Linalg)        /* MatMul, BatchMatMulV2, Einsum, ... */       \
      of_all(Morphology)    /* Dilation2D and its gradients */             \
      of_all(Nn)            /* BiasAdd, Softmax, losses, activations */    \
      of_all(Normalization) /* FusedBatchNormV3, LayerNorm, LRN */         \
      of_all(Pooling)       /* MaxPool, AvgPool and their gradients */     \
      of_all(Random)        /* StatelessRandomUniform, ...Normal */        \
      of_all(Reduction)     /* Sum, Mean, Max, ..., ArgMax */              \
      of_all(Scan)          /* Cumsum, Cumprod */                          \
      of_all(Shape)         /* Reshape, Transpose, ConcatV2, Slice, ... */ \
      of_host(SideEffect)   /* PrintV2, Assert */                          \
      of_all(Signal)        /* FFT, RFFT and their inverses */             \
      of_all(Sparse)        /* sparse and ragged tensors as their parts */ \
      of_host(Test)         /* test.*: small, and used by documentation */ \
      of_host(Text)         /* StringSplitV2, StringNGrams, ... */         \
      of_all(Volume)        /* Conv3D, MaxPool3D, AvgPool3D, gradients */

namespace tandem {

#define TANDEM_DECLARE_FAMILY(Name) TANDEM_EXPORT Status Register##Name##Ops(OpRegistry& registry);
TANDEM_OP_FAMILIES(TANDEM_DECLARE_FAMILY, TANDEM_DECLARE_FAMILY)
#undef TANDEM_DECLARE_FAMILY

// All of them.
TANDEM_EXPORT Status RegisterAllOps(OpRegistry& registry);

}  // namespace tandem

#endif  // TANDEM_OP_FAMILIES_H_
