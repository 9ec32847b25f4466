// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// StaticRegexReplace, StringNGrams, StringSplit, StringSplitV2, StringToHashBucketFast.

#include <string_view>

#include "op_definition.h"
#include "tandem/op_families.h"
#include "tandem/regular_expression.h"

namespace tandem {
namespace {

TensorMetadata HashMetadata(const TensorMetadata& input) { return TensorMetadata(DType::kI64, input.shape); }

StatusOr<TensorMetadata> RegexReplaceMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const RegularExpression pattern,
                          RegularExpression::Parse(attrs.GetOr<std::string_view>("pattern", "")));
  const auto rewrite = attrs.GetOr<std::string_view>("rewrite", "");
  for (size_t i = 0; i < rewrite.size(); ++i) {
    if (rewrite[i] != '\\') continue;
    const char c = ++i < rewrite.size() ? rewrite[i] : 'x';
    if (c != '\\' && (c < '0' || c > '9')) {
      return InvalidArgument("a backslash in rewrite must be followed by a digit or a backslash");
    }
    if (c != '\\' && c - '0' > pattern.num_groups()) {
      return InvalidArgument("rewrite must name groups of pattern, which has ", pattern.num_groups(), ", got ",
                             c - '0');
    }
  }
  return input;
}

TANDEM_DEFINES OpDefinition WithTokens(OpDefinition op) {
  return op.Output("indices: int64").Output("values: string").Output("shape: int64");
}

}  // namespace

Status RegisterTextOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.StringNGrams")
              .Input("data: string")
              .Input("data_splits: Tsplits")
              .Output("ngrams: string")
              .Output("ngrams_splits: Tsplits")
              .Attr("separator: string")
              .Attr("ngram_widths: list(int) >= 0")
              .Attr("left_pad: string")
              .Attr("right_pad: string")
              .Attr("pad_width: int")
              .Attr("preserve_short_sequences: bool")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Doc(TANDEM_DOC(R"(Joins neighbouring strings of each row to n-grams.

The results' shapes depend on the data: the n-grams of each row, those of one width after those of the other.

data: A vector: the strings of all rows.
data_splits: Where each row begins, from 0 on, and where the last one ends.
separator: What stands between the strings of an n-gram.
ngram_widths: How many strings an n-gram has, each at least 1.
left_pad: What comes before a row, pad_width times; right_pad after it.
pad_width: How often, but less than the width; -1: one less than the width.
preserve_short_sequences: Whether a row without an n-gram, but not empty, becomes one, with all its padding.)")),
          OpDefinition("tf.StaticRegexReplace")
              .Input("input: string")
              .Output("output: string")
              .Attr("pattern: string")
              .Attr("rewrite: string")
              .Attr("replace_global: bool = true")
              .Metadata<&RegexReplaceMetadata>()
              .Doc(TANDEM_DOC(R"(Replaces what matches a regular expression, in time that is linear in the text.

The syntax is that of RE2, and text is UTF-8. Case is ignored in ASCII alone, and there are no classes of Unicode's
categories.

input: Of any shape.
pattern: The regular expression.
rewrite: What a match becomes, where \1 to \9 are its groups, \0 is all of it and \ is a backslash.
replace_global: Whether all matches are replaced that do not overlap, rather than the first one.)")),
          WithTokens(OpDefinition("tf.StringSplit")
                         .Input("input: string")
                         .Input("delimiter: string")
                         .Attr("skip_empty: bool = true"))
              .Doc(TANDEM_DOC(R"(Splits strings at each byte that is a delimiter.

The results' shapes depend on the data: a sparse tensor with a row for each string.

input: A vector.
delimiter: A scalar: a string of which each byte splits; if it is empty, strings are split into their bytes.
skip_empty: Whether empty parts are left out.)")),
          WithTokens(
              OpDefinition("tf.StringSplitV2").Input("input: string").Input("sep: string").Attr("maxsplit: int = -1"))
              .Doc(TANDEM_DOC(R"(Splits strings at a separator.

The results' shapes depend on the data: a sparse tensor with a row for each string.

input: A vector.
sep: A scalar: what splits, as a whole. If it is empty, white space of any length does, and none begins or ends a part.
maxsplit: If it is above 0, a string is split so many times at most, and the rest is the last part; if it is 0, not at
  all.)")),
          OpDefinition("tf.StringToHashBucketFast")
              .Input("input: string")
              .Output("output: int64")
              .Attr("num_buckets: int >= 1")
              .Metadata<&HashMetadata>()
              .Doc(TANDEM_DOC(
                  R"(A number in [0, num_buckets) for each string: its FarmHash Fingerprint64 modulo num_buckets.)")),
      });
}

}  // namespace tandem
