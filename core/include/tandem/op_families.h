// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op definitions that come with Tandem, by family; each family is one file in core/ops.

#ifndef TANDEM_OP_FAMILIES_H_
#define TANDEM_OP_FAMILIES_H_

#include "tandem/export.h"
#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

TANDEM_EXPORT Status RegisterConvolutionOps(OpRegistry& registry);  // Conv2D, DepthwiseConv2dNative and their gradients
TANDEM_EXPORT Status RegisterCreationOps(OpRegistry& registry);     // Const, Fill, OneHot, ...
TANDEM_EXPORT Status RegisterElementwiseOps(OpRegistry& registry);  // arithmetic, functions, comparisons, Cast, ...
TANDEM_EXPORT Status RegisterImageOps(OpRegistry& registry);        // ResizeBilinear, ResizeNearestNeighbor
TANDEM_EXPORT Status RegisterIndexingOps(OpRegistry& registry);     // GatherV2, ScatterNd, TopKV2, Where, Unique, ...
TANDEM_EXPORT Status RegisterLinalgOps(OpRegistry& registry);       // MatMul, BatchMatMulV2, Einsum, ...
TANDEM_EXPORT Status RegisterNnOps(OpRegistry& registry);           // BiasAdd, Softmax, losses, activation gradients
TANDEM_EXPORT Status RegisterNormalizationOps(OpRegistry& registry);  // FusedBatchNormV3, LayerNorm
TANDEM_EXPORT Status RegisterPoolingOps(OpRegistry& registry);        // MaxPool, AvgPool and their gradients
TANDEM_EXPORT Status RegisterRandomOps(OpRegistry& registry);         // StatelessRandomUniform, StatelessRandomNormal
TANDEM_EXPORT Status RegisterReductionOps(OpRegistry& registry);      // Sum, Mean, Max, ..., ArgMax
TANDEM_EXPORT Status RegisterScanOps(OpRegistry& registry);           // Cumsum, Cumprod
TANDEM_EXPORT Status RegisterShapeOps(OpRegistry& registry);          // Reshape, Transpose, ConcatV2, Split, Slice, ...
TANDEM_EXPORT Status RegisterSideEffectOps(OpRegistry& registry);     // PrintV2, Assert
TANDEM_EXPORT Status RegisterConversionOps(OpRegistry& registry);     // between the tensor types of the host
TANDEM_EXPORT Status RegisterTestOps(OpRegistry& registry);           // test.*

// All of the above. Test ops are included: they are small, and the examples of the documentation use them.
TANDEM_EXPORT Status RegisterAllOps(OpRegistry& registry);

}  // namespace tandem

#endif  // TANDEM_OP_FAMILIES_H_
