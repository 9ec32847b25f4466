// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Metadata functions that many ops share.

#ifndef TANDEM_METADATA_FUNCTIONS_H_
#define TANDEM_METADATA_FUNCTIONS_H_

#include <string_view>

#include "tandem/export.h"
#include "tandem/metadata_function.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// The common shape of two arguments under NumPy broadcasting; if there is none, InvalidArgument that calls them by
// their names.
TANDEM_EXPORT StatusOr<TensorShape> BroadcastArguments(std::string_view x_name, const TensorMetadata& x,
                                                       std::string_view y_name, const TensorMetadata& y);

// For ops whose only result has the dtype and shape of their first argument.
TANDEM_EXPORT TensorMetadata UnchangedMetadata(const TensorMetadata& x);

// For ops whose only result is a bool for each element of their first argument.
TANDEM_EXPORT TensorMetadata PredicateMetadata(const TensorMetadata& x);

// For ops of two arguments named x and y, with NumPy broadcasting, whose only result has the dtype of x.
TANDEM_EXPORT StatusOr<TensorMetadata> BroadcastMetadata(const TensorMetadata& x, const TensorMetadata& y);

// The same with a result of dtype bool.
TANDEM_EXPORT StatusOr<TensorMetadata> BroadcastPredicateMetadata(const TensorMetadata& x, const TensorMetadata& y);

}  // namespace tandem

#endif  // TANDEM_METADATA_FUNCTIONS_H_
