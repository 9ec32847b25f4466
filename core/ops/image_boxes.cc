// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NonMaxSuppressionV3, V4 and V5.

#include <string>

#include "image_ops.h"
#include "op_definition.h"

namespace tandem {
namespace {

constexpr const char* kBoxesDoc = TANDEM_DOC(R"(

Boxes are selected by their scores, the highest first and of equal ones the one that comes first.

boxes: Of shape [n, 4]: two opposite corners of each, y1, x1, y2, x2.
scores: Of shape [n].
max_output_size: One number of at least 0: how many boxes are selected at most.)");
constexpr const char* kThresholdsDoc = TANDEM_DOC(R"(
iou_threshold: A scalar in [0, 1]: a box of which more than this overlaps with a selected one, as intersection over
  union, is not selected.
score_threshold: A scalar: only boxes with a higher score are selected.)");
constexpr const char* kPadDoc = TANDEM_DOC(R"(
pad_to_max_output_size: Whether the results have max_output_size elements, those that are not valid being 0.)");

TANDEM_DEFINES OpDefinition HardSuppression(const char* name) {
  return OpDefinition(name)
      .Input("boxes: T")
      .Input("scores: T")
      .HostInput("max_output_size: int32")
      .Input("iou_threshold: T_threshold")
      .Input("score_threshold: T_threshold")
      .Output("selected_indices: int32")
      .Attr("T: {half, float} = DT_FLOAT")
      .Attr("T_threshold: {half, float} = DT_FLOAT");
}

}  // namespace

Status RegisterBoxOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          HardSuppression("tf.NonMaxSuppressionV3")
              .Doc(std::string(TANDEM_DOC("Selects boxes that overlap little; how many depends on the data.")) +
                   kBoxesDoc + kThresholdsDoc),
          HardSuppression("tf.NonMaxSuppressionV4")
              .Output("valid_outputs: int32")
              .Attr("pad_to_max_output_size: bool = false")
              .Doc(std::string(TANDEM_DOC("Selects boxes that overlap little, and tells how many there are.")) +
                   kBoxesDoc + kThresholdsDoc + kPadDoc),
          OpDefinition("tf.NonMaxSuppressionV5")
              .Input("boxes: T")
              .Input("scores: T")
              .HostInput("max_output_size: int32")
              .Input("iou_threshold: T")
              .Input("score_threshold: T")
              .Input("soft_nms_sigma: T")
              .Output("selected_indices: int32")
              .Output("selected_scores: T")
              .Output("valid_outputs: int32")
              .Attr("T: {half, float} = DT_FLOAT")
              .Attr("pad_to_max_output_size: bool = false")
              .Doc(std::string(
                       TANDEM_DOC("Selects boxes that overlap little, with their scores, which those of selected "
                                  "boxes may lower.")) +
                   kBoxesDoc + kThresholdsDoc + TANDEM_DOC(R"(
soft_nms_sigma: A scalar of at least 0. If it is above 0, iou_threshold has no effect: instead the score of a box is
  multiplied by exp(-overlap^2 / (2 sigma)) for each box that is selected before it.)") +
                   kPadDoc),
      });
}

}  // namespace tandem
