// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op definitions that come with Tandem, by family; each family is one file in core/ops.

#ifndef TANDEM_OP_FAMILIES_H_
#define TANDEM_OP_FAMILIES_H_

#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

Status RegisterConvolutionOps(OpRegistry& registry);  // Conv2D, DepthwiseConv2dNative and their gradients
Status RegisterCreationOps(OpRegistry& registry);     // Const, Fill, OneHot, ...
Status RegisterElementwiseOps(OpRegistry& registry);  // unary, binary, comparison, Cast, SelectV2
Status RegisterImageOps(OpRegistry& registry);        // ResizeBilinear, ResizeNearestNeighbor
Status RegisterIndexingOps(OpRegistry& registry);     // GatherV2, Where, Unique
Status RegisterLinalgOps(OpRegistry& registry);       // MatMul
Status RegisterNnOps(OpRegistry& registry);           // BiasAdd, Softmax, losses, activation gradients
Status RegisterNormalizationOps(OpRegistry& registry);// FusedBatchNormV3, LayerNorm
Status RegisterPoolingOps(OpRegistry& registry);      // MaxPool, AvgPool and their gradients
Status RegisterRandomOps(OpRegistry& registry);       // StatelessRandomUniform, StatelessRandomNormal
Status RegisterReductionOps(OpRegistry& registry);    // Sum, Mean, Max, ..., ArgMax
Status RegisterScanOps(OpRegistry& registry);         // Cumsum, Cumprod
Status RegisterShapeOps(OpRegistry& registry);        // Reshape, Transpose, ConcatV2, Split, Slice, ...
Status RegisterSideEffectOps(OpRegistry& registry);   // PrintV2, Assert
Status RegisterConversionOps(OpRegistry& registry);   // between the tensor types of the host
Status RegisterTestOps(OpRegistry& registry);         // test.*

// All of the above. Test ops are included: they are small, and the examples of the documentation use them.
Status RegisterAllOps(OpRegistry& registry);

}  // namespace tandem

#endif  // TANDEM_OP_FAMILIES_H_
