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
    const { leftPad, nGramWidths, padWidth, preserveShortSequences, rightPad, separator } = call.attrs;
    const { data, dataSplits } = call.inputs;
    return explained(() => {
      const { ngrams, ngramsSplits } = td.stringNGrams(call.tensor(data), call.as(dataSplits, 'i32'), separator, nGramWidths,
        leftPad, rightPad, padWidth, preserveShortSequences);
      ngrams.readySync();
      return [ngrams, ngramsSplits];
    }, () => ofSplits(call.values(dataSplits), data.shape[0]!));
  }, ON_HOST);

export const StringSplit = /* @__PURE__ */ kernel<{ input: TensorInfo; delimiter: TensorInfo }, { skipEmpty: boolean }>(
  'StringSplit', (call) => {
    const { attrs: { skipEmpty }, inputs: { delimiter, input } } = call;
    const { indices, shape, values } = td.stringSplit(call.tensor(input), call.tensor(delimiter), { skipEmpty });
    values.readySync();
    return [td.cast(call.passing(indices), 'i32'), values, td.cast(call.passing(shape), 'i32')];
  }, ON_HOST);

export const StringToHashBucketFast = /* @__PURE__ */ kernel<{ input: TensorInfo }, { numBuckets: number }>(
  'StringToHashBucketFast', (call) => {
    const { attrs: { numBuckets }, inputs: { input } } = call;
    if (numBuckets < 1) throw new td.TandemError('InvalidArgument', 'Number of buckets must be at least 1');
    return td.cast(call.passing(td.stringToHashBucketFast(call.tensor(input), numBuckets)), 'i32');
  }, ON_HOST);

interface ReplaceAttrs {
  pattern: string;
  rewrite: string;
  replaceGlobal: boolean;
}

export const StaticRegexReplace = /* @__PURE__ */ kernel<{ x: TensorInfo }, ReplaceAttrs>('StaticRegexReplace', (call) => {
  const { attrs: { pattern, replaceGlobal, rewrite }, inputs: { x } } = call;
  return td.staticRegexReplace(call.tensor(x), pattern, rewrite, { replaceGlobal });
}, ON_HOST);
