// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RaggedRange, RaggedGather, RaggedTensorToTensor: ragged tensors as the splits of their rows and their values.

#include "op_definition.h"
#include "sparse_ops.h"

namespace tandem {

Status RegisterRaggedOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.RaggedRange")
              .Input("starts: T")
              .Input("limits: T")
              .Input("deltas: T")
              .Output("rt_nested_splits: Tsplits")
              .Output("rt_dense_values: T")
              .Attr("T: {bfloat16, half, float, double, int32, int64} = DT_INT32")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Doc(TANDEM_DOC(R"(Rows of numbers from a start to a limit, which is left out, in steps.

The results' shapes depend on the data. Row i, values rt_nested_splits[i] to rt_nested_splits[i + 1], has the numbers
starts[i] + j * deltas[i] below limits[i], or above it if deltas[i] is negative.

starts: A vector, or a scalar for all rows, as limits and deltas; vectors have the same size.
deltas: Not 0.)")),
          OpDefinition("tf.RaggedGather")
              .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
              .Input("params_dense_values: Tvalues")
              .Input("indices: Tindices")
              .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
              .Output("output_dense_values: Tvalues")
              .Attr("Tvalues: type")
              .Attr("Tindices: {int32, int64}")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Attr("PARAMS_RAGGED_RANK: int >= 1")
              .Attr("OUTPUT_RAGGED_RANK: int >= 0")
              .Doc(TANDEM_DOC(R"(Picks rows of a ragged tensor.

The results' shapes depend on the data: a ragged tensor of the shape of indices, of which each element is a row of params.

params_nested_splits: For each ragged dimension where its rows begin in the next one, or in the values; from 0 on and in
  ascending order.
params_dense_values: Of rank 1 at least.
indices: Numbers of rows in the first dimension; an error names the first one that there is none of.
OUTPUT_RAGGED_RANK: PARAMS_RAGGED_RANK plus the rank of indices, less 1.)")),
          OpDefinition("tf.RaggedTensorToTensor")
              .Input("shape: Tshape")
              .Input("values: T")
              .Input("default_value: T")
              .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
              .Output("result: T")
              .Attr("T: type")
              .Attr("Tindex: {int32, int64}")
              .Attr("Tshape: {int32, int64}")
              .Attr("num_row_partition_tensors: int >= 1")
              .Attr("row_partition_types: list(string)")
              .Doc(TANDEM_DOC(R"(Makes a dense tensor of a ragged one, filling up short rows and cutting long ones.

The result's shape depends on the data.

shape: The sizes of the result, -1 where the ragged tensor decides; or the scalar -1.
values: Of rank 1 at least; its dimensions after the first become the result's last ones.
default_value: What fills up; broadcasts to an element of values.
row_partition_tensors: What divides the values: a tensor for each of row_partition_types.
row_partition_types: 'FIRST_DIM_SIZE' (a scalar: how many rows there are; followed by 'VALUE_ROWIDS' alone), 'VALUE_ROWIDS'
  (for each value the number of its row, ascending) or 'ROW_SPLITS' (where each row begins, and where the last one ends).)")),
      });
}

}  // namespace tandem
