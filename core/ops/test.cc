// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops for tests and examples: one of every kind that the runtime tells apart.

#include <cstdint>
#include <span>

#include "defs/attr_conversion.h"
#include "op_definition.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> CreateDenseTensorMetadata(const OpAttrsRef& attrs) {
  std::span<const int64_t> dims;
  attrs.GetArray("shape", &dims);
  const TensorShape shape(dims);
  TANDEM_RETURN_IF_ERROR(shape.Validate());
  const AttrEntry* values = attrs.Find("values");
  const DType dtype = ElementDType(values->type);
  if (dtype == DType::kInvalid) {
    return InvalidArgument("attribute values must be of bool, i32, i64, f32, f64 or string, got ",
                           AttrTypeName(values->type));
  }
  const int64_t count = shape.num_elements();
  if (values->size != count && values->size != 1) {
    return InvalidArgument("attribute values must have ", count, count == 1 ? " element" : " elements or 1",
                           " for shape ", shape, ", got ", values->size);
  }
  return TensorMetadata(dtype, shape);
}

StatusOr<TensorMetadata> AddMetadata(const TensorMetadata& x, const TensorMetadata& y) {
  if (x.shape == y.shape) return x;
  return InvalidArgument("shapes must be equal, got x: ", x, ", y: ", y);
}

Status ErrorTensorMetadata(const TensorMetadata& x, std::span<TensorMetadata> results) {
  for (TensorMetadata& result : results) result = x;
  return Status();
}

Status PrintMetadata(const TensorMetadata&) { return Status(); }

TANDEM_DEFINES OpDefinition CreateDenseTensorDef() {
  return OpDefinition("test.create_dense_tensor")
      .Output("tensor: any")
      .Attr("shape: list(int)")
      .Attr("values: any")
      .Metadata<&CreateDenseTensorMetadata>()
      .Doc(TANDEM_DOC(R"(Makes a dense tensor of attributes.

shape: The sizes.
values: A list with an element for each of the tensor, in row-major order, or one value for all of them; of bool, i32,
  i64, f32, f64 or strings, which the tensor then is of.)"));
}

TANDEM_DEFINES OpDefinition AddDef(const char* name, const char* doc) {
  return OpDefinition(name)
      .Input("x: T")
      .Input("y: T")
      .Output("z: T")
      .Attr("T: {float, int32}")
      .Metadata<&AddMetadata>()
      .Doc(doc);
}

}  // namespace

Status RegisterTestOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          CreateDenseTensorDef(),
          AddDef("test.add",
                 TANDEM_DOC("Sum of two tensors of the same shape, of which each may be a scalar host tensor.")),
          AddDef("test.add.denseonly",
                 TANDEM_DOC("Sum of two tensors of the same shape, by a kernel that knows nothing but dense tensors.")),
          OpDefinition("test.odd_collector")
              .Input("x: int32")
              .Output("y: int32")
              .Doc(TANDEM_DOC("The odd elements of a vector, in order; the result's shape depends on the data.")),
          OpDefinition("test.error.tensor")
              .Input("x: T")
              .Output("values: num_values * T")
              .Output("error: T")
              .Attr("T: type")
              .Attr("num_values: int >= 0 = 0")
              .Metadata<&ErrorTensorMetadata>()
              .Doc(TANDEM_DOC("Gives its argument as each of `values`, and an error as its last result.")),
          OpDefinition("test.async.noop")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: type")
              .Metadata<&UnchangedMetadata>()
              .Doc(TANDEM_DOC("Gives its argument, some time later, from a task of the work queue.")),
          OpDefinition("test.print")
              .Input("x: T")
              .Attr("T: type")
              .SideEffects()
              .Metadata<&PrintMetadata>()
              .Doc(TANDEM_DOC("Prints a tensor: dtype, shape and its first elements, on a line.")),
      });
}

}  // namespace tandem
