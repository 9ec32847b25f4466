// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod.

#include <string>
#include <string_view>

#include "op_definition.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> ScanMetadata(const TensorMetadata& x, HostInput axis) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, axis.Scalar("axis"));
  TANDEM_RETURN_IF_ERROR(NormalizeAxis(given, x.rank(), "axis").status());
  return x;
}

TANDEM_DEFINES OpDefinition Scan(const char* name, const char* what, const char* neutral) {
  return OpDefinition(name)
      .Input("x: T")
      .HostInput("axis: Tidx")
      .Output("out: T")
      .Attr("exclusive: bool = false")
      .Attr("reverse: bool = false")
      .Attr("T: numbertype")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&ScanMetadata>()
      .Doc(std::string(what) + R"( of the elements up to each one along one dimension.

Integers wrap around; f16 and bf16 are computed in f32, and each element of the result is rounded once.

x: Of rank 1 at least.
axis: One number in [-rank, rank), counted from the end if negative.
exclusive: Whether an element's own value is left out, so that the first one becomes )" +
           std::string(neutral) + R"(.
reverse: Whether to begin at the end of the dimension.)");
}

}  // namespace

Status RegisterScanOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   Scan("tf.Cumsum", "Sums", "0"),
                                   Scan("tf.Cumprod", "Products", "1"),
                               });
}

}  // namespace tandem
