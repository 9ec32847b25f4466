// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels on strings.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';

import { explained, kernel } from '../kernel.js';
import { ofSplits } from './complaints.js';

const ON_HOST = { onHost: true };

interface NGramsAttrs {
  separator: string;
  nGramWidths: number[];
  leftPad: string;
  rightPad: string;
  padWidth: number;
  preserveShortSequences: boolean;
}

export const StringNGrams = /* @__PURE__ */ kernel<{ data: TensorInfo; dataSplits: TensorInfo }, NGramsAttrs>(
  'StringNGrams', (call) => {
    const { attrs, inputs: { data, dataSplits } } = call;
    return explained(() => {
      const results = call.op('tf.StringNGrams', [call.tensor(data), call.as(dataSplits, 'i32')], {
        separator: attrs.separator, ngram_widths: attrs.nGramWidths, left_pad: attrs.leftPad, right_pad: attrs.rightPad,
        pad_width: attrs.padWidth, preserve_short_sequences: attrs.preserveShortSequences,
      });
      results.forEach((each) => each.readySync());
      return results;
    }, () => ofSplits(call.values(dataSplits), data.shape[0]!));
  }, ON_HOST);

export const StringSplit = /* @__PURE__ */ kernel<{ input: TensorInfo; delimiter: TensorInfo }, { skipEmpty: boolean }>(
  'StringSplit', (call) => {
    const { attrs: { skipEmpty }, inputs: { delimiter, input } } = call;
    const results = call.op('tf.StringSplit', [call.tensor(input), call.tensor(delimiter)], { skip_empty: skipEmpty });
    results.forEach((each) => each.readySync());
    const [indices, values, shape] = results;
    return [td.cast(call.passing(indices!), 'i32'), values!, td.cast(call.passing(shape!), 'i32')];
  }, ON_HOST);

export const StringToHashBucketFast = /* @__PURE__ */ kernel<{ input: TensorInfo }, { numBuckets: number }>(
  'StringToHashBucketFast', (call) => {
    const { attrs: { numBuckets }, inputs: { input } } = call;
    if (numBuckets < 1) throw new td.TandemError('InvalidArgument', 'Number of buckets must be at least 1');
    const [buckets] = call.op('tf.StringToHashBucketFast', [call.tensor(input)], { num_buckets: numBuckets });
    return td.cast(call.passing(buckets!), 'i32');
  }, ON_HOST);

interface ReplaceAttrs {
  pattern: string;
  rewrite: string;
  replaceGlobal: boolean;
}

export const StaticRegexReplace = /* @__PURE__ */ kernel<{ x: TensorInfo }, ReplaceAttrs>('StaticRegexReplace', (call) => {
  const { attrs: { pattern, replaceGlobal, rewrite }, inputs: { x } } = call;
  return call.op('tf.StaticRegexReplace', [call.tensor(x)], { pattern, rewrite, replace_global: replaceGlobal })[0]!;
}, ON_HOST);
