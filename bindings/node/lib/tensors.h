// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the addon's functions share of tensors.

#ifndef TANDEM_BINDINGS_NODE_TENSORS_H_
#define TANDEM_BINDINGS_NODE_TENSORS_H_

#include <node_api.h>

#include "tandem.h"

namespace tandem::node {

struct TensorBox {
  tandem_tensor* tensor;  // null once it is released
};

// What JavaScript holds the tensor by, which is taken over; null if it has thrown.
napi_value GiveTensor(napi_env env, tandem_tensor* tensor);

// (runtime, dtype, dims, typed array, whether to copy): the tensor of its elements. Without a copy it refers to the
// memory of the array, which stays until the tensor is gone.
napi_value CreateTensor(napi_env env, napi_callback_info info);
// (runtime, dims, strings)
napi_value CreateStrings(napi_env env, napi_callback_info info);
// (tensor): 'pending', 'available' or 'error'
napi_value TensorState(napi_env env, napi_callback_info info);
// (tensor): a number
napi_value TensorDType(napi_env env, napi_callback_info info);
// (tensor): an array
napi_value TensorShape(napi_env env, napi_callback_info info);
// (tensor): a promise, which rejects with the error that the tensor has become.
napi_value TensorReady(napi_env env, napi_callback_info info);
// (tensor): an ArrayBuffer over the memory of an available tensor, which it keeps.
napi_value TensorView(napi_env env, napi_callback_info info);
// (tensor, count): the strings of an available tensor.
napi_value TensorStrings(napi_env env, napi_callback_info info);
// (tensor, most elements): a text of an available tensor.
napi_value TensorText(napi_env env, napi_callback_info info);
// (tensor): the address of an available tensor's elements, as a bigint.
napi_value TensorAddress(napi_env env, napi_callback_info info);
// (typed array): where its elements are, likewise.
napi_value AddressOf(napi_env env, napi_callback_info info);
// (tensor)
napi_value ReleaseTensor(napi_env env, napi_callback_info info);

}  // namespace tandem::node

#endif  // TANDEM_BINDINGS_NODE_TENSORS_H_
