// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices, and what else has to do with them.

import { backend_util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel, sizeOf } from '../kernel.js';
import type { Call } from '../kernel.js';
import { activated, fusedOf } from './activation.js';
import type { Activation } from './activation.js';

interface Product {
  a: TensorInfo;
  b: TensorInfo;
}

interface ProductAttrs {
  transposeA: boolean;
  transposeB: boolean;
}

const batchOf = ({ shape }: TensorInfo): number => sizeOf(shape.slice(0, -2));

// One matrix as such; of many, if the other factor is one and they need not be transposed, one below the other.
function matrixShape({ shape }: TensorInfo): readonly number[] {
  return shape.length === 2 ? shape : [sizeOf(shape.slice(0, -1)), shape.at(-1)!];
}

function factors(call: Call<Product, ProductAttrs>): [Tensor, Tensor] {
  const { a, b } = call.inputs;
  return [call.tensor(a, matrixShape(a)), call.tensor(b, matrixShape(b))];
}

function checkInner({ attrs: { transposeA, transposeB }, inputs: { a, b } }: Call<Product, ProductAttrs>): void {
  const inner = a.shape.at(transposeA ? -2 : -1);
  const outer = b.shape.at(transposeB ? -1 : -2);
  if (inner === outer) return;
  throw new td.TandemError('InvalidArgument', `Error in matMul: inner shapes (${inner}) and (${outer}) of Tensors with ` +
    `shapes ${a.shape} and ${b.shape} and transposeA=${transposeA} and transposeB=${transposeB} must match.`);
}

// The shape of the product of matrices as one of two dimensions, if it can be computed so.
function flatShape({ attrs: { transposeA, transposeB }, inputs: { a, b } }: Call<Product, ProductAttrs>):
number[] | undefined {
  if (batchOf(b) !== 1 || (transposeA && batchOf(a) !== 1)) return undefined;
  const rows = transposeA ? a.shape.slice(-1) : a.shape.slice(a.shape.length > 2 && batchOf(a) === 1 ? -2 : 0, -1);
  const batch = a.shape.length >= b.shape.length ? a.shape.slice(0, -2) : b.shape.slice(0, -2);
  const columns = b.shape.at(transposeB ? -2 : -1)!;
  return [...batch, rows.at(-1)!, columns];
}

// The product of two matrices, of `flatShape`.
function product(call: Call<Product, ProductAttrs>, result: Tensor, shape: readonly number[]): TensorInfo {
  const { a, b } = call.inputs;
  if (a.dtype !== b.dtype) return call.shaped(result, shape);
  return call.known(result, shape, a.dtype, [sizeOf(shape.slice(0, -1)), shape.at(-1)!]);
}

export const BatchMatMul = /* @__PURE__ */ kernel<Product, ProductAttrs>('BatchMatMul', (call) => {
  const { attrs: { transposeA, transposeB }, inputs: { a, b } } = call;
  checkInner(call);
  const shape = flatShape(call);
  if (shape === undefined) {
    return td.batchMatMul(call.tensor(a), call.tensor(b), { adjX: transposeA, adjY: transposeB });
  }
  return product(call, td.matMul(...factors(call), { transposeA, transposeB }), shape);
});

interface FusedInputs extends Product {
  bias?: TensorInfo;
  preluActivationWeights?: TensorInfo;
}

interface FusedAttrs extends ProductAttrs {
  activation: Activation;
  leakyreluAlpha?: number;
}

export const _FusedMatMul = /* @__PURE__ */ kernel<FusedInputs, FusedAttrs>('_FusedMatMul', (call) => {
  const { attrs, inputs: { a, b, bias, preluActivationWeights } } = call;
  const { activation, leakyreluAlpha, transposeA, transposeB } = attrs;
  checkInner(call);
  const shape = flatShape(call);
  const slope = preluActivationWeights && call.tensor(preluActivationWeights);
  const columns = b.shape.at(transposeB ? -2 : -1)!;
  const finished = (result: Tensor, rest: Activation): Tensor => activated(call, result, rest, slope, leakyreluAlpha);
  if (shape !== undefined && bias !== undefined && sizeOf(bias.shape) === columns && bias.shape.at(-1) === columns) {
    const { fusedOps, rest } = fusedOf(activation);
    const biased = td.fusedMatMul(...factors(call), [call.tensor(bias, [columns])], {
      transposeA, transposeB, fusedOps, ...(leakyreluAlpha !== undefined && { leakyreluAlpha }),
    });
    return product(call, finished(biased, rest), shape);
  }
  const raw = shape === undefined
    ? td.batchMatMul(call.tensor(a), call.tensor(b), { adjX: transposeA, adjY: transposeB })
    : td.matMul(...factors(call), { transposeA, transposeB });
  if (bias === undefined) {
    const last = finished(raw, activation);
    return shape === undefined ? last : product(call, last, shape);
  }
  const whole = shape === undefined || shape.length === 2 ? raw : td.reshape(call.passing(raw), shape);
  const last = finished(td.add(call.passing(whole), call.tensor(bias)), activation);
  return shape === undefined ? last : call.shaped(last, shape);
});

export const Einsum = /* @__PURE__ */ kernel<TensorInfo[], { equation: string }>('Einsum', (call) => {
  const { attrs: { equation } } = call;
  const list = Object.values(call.inputs);
  // What TensorFlow.js takes, and in its words what it does not.
  const { allDims, idDims } = backend_util.decodeEinsumEquation(equation, list.length);
  backend_util.checkEinsumDimSizes(allDims.length, idDims, list as Parameters<typeof backend_util.checkEinsumDimSizes>[2]);
  return td.einsum(list.map((each) => call.numbers(each)), equation);
});

export const Diag = /* @__PURE__ */ kernel<{ x: TensorInfo }>('Diag', (call) => {
  const { x } = call.inputs;
  return call.shaped(td.matrixDiag(call.tensor(x, [sizeOf(x.shape)])), [...x.shape, ...x.shape]);
});

export const MatrixBandPart =
  /* @__PURE__ */ kernel<{ input: TensorInfo; numLower: TensorInfo; numUpper: TensorInfo }>('MatrixBandPart', (call) => {
    const { input, numLower, numUpper } = call.inputs;
    return td.matrixBandPart(call.tensor(input), call.as(numLower, 'i32'), call.as(numUpper, 'i32'));
  });
