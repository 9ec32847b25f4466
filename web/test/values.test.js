// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Values in and out: nested arrays of every dtype and rank, what dtypes do not take, and the 16-bit formats.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { bf16ToNumber, DTYPES, f16ToNumber, numberToBF16, numberToF16, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf } from './errors.js';

// Some values that each dtype has exactly.
const EXACT = {
  bool: [true, false], u8: [0, 255, 7], i8: [-128, 127, 0], u16: [0, 65535, 256], i16: [-32768, 32767, -1],
  i32: [-2147483648, 2147483647, 5], u32: [0, 4294967295, 2147483648],
  i64: [-9223372036854775808n, 9223372036854775807n, -9007199254740993n], u64: [0n, 18446744073709551615n],
  f16: [65504, -0.5, 2 ** -24, -0, Infinity, NaN], bf16: [2 ** 127, -(2 ** -133), 1.0078125, -Infinity, NaN],
  f32: [16777215, 2 ** -149, -0, NaN], f64: [Number.MAX_VALUE, Number.MIN_VALUE, 0.1, -0, -Infinity],
  c64: [[1, -2], [0, 0.5], [NaN, Infinity]], string: ['', 'a', 'grüße 🙂', '\0'],
};

const SHAPES = [[], [1], [5], [0], [2, 3], [3, 0], [2, 1, 3], [1, 2, 2, 2], [2, 1, 2, 1, 2],
  [1, 2, 1, 3, 1, 2], [1, 1, 2, 1, 1, 2, 1], [1, 1, 1, 1, 2, 1, 1, 2]];

function nestedOf(shape, values) {
  let at = 0;
  const level = (depth) => (depth === shape.length ? values[at++ % values.length]
    : Array.from({ length: shape[depth] }, () => level(depth + 1)));
  return level(0);
}

describe('values', () => {
  let rt;
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt.dispose());

  for (const dtype of DTYPES) {
    it(`nested arrays of ${dtype} come back as they went in, at every rank`, async () => {
      for (const shape of SHAPES) {
        const values = nestedOf(shape, EXACT[dtype]);
        const tensor = rt.tensor(values, { dtype });
        expect(tensor.shape, JSON.stringify(shape)).to.deep.equal(shape);
        expect(tensor.dtype).to.equal(dtype);
        expect(await tensor.array()).to.deep.equal(values);
        tensor.dispose();
      }
    });
  }

  it('typed arrays may be the innermost of nested ones', async () => {
    const rows = rt.tensor([[Float64Array.of(1, 2)], [Float64Array.of(3, 4)]]);
    expect(rows.dtype).to.equal('f64');
    expect(await rows.array()).to.deep.equal([[[1, 2]], [[3, 4]]]);
    const whole = rt.tensor([Float32Array.of(1, 2), Float32Array.of(3, 4)], { dtype: 'i32' });
    expect(await whole.array()).to.deep.equal([[1, 2], [3, 4]]);
  });

  it('typed arrays of bits and of interleaved parts are taken as data() gives them', async () => {
    const half = rt.tensor(Uint16Array.of(0x3c00, 0xc000), { dtype: 'f16' });
    expect(await half.array()).to.deep.equal([1, -2]);
    expect(await half.data()).to.deep.equal(Uint16Array.of(0x3c00, 0xc000));
    const complex = rt.tensor(Float32Array.of(1, 2, 3, 4), { dtype: 'c64' });
    expect(complex.shape).to.deep.equal([2]);
    expect(await complex.array()).to.deep.equal([[1, 2], [3, 4]]);
  });

  it('a number for c64 is its real part', async () => {
    expect(await rt.scalar(3, 'c64').item()).to.deep.equal([3, 0]);
  });

  it('floats are rounded to nearest, ties to even', async () => {
    const values = [0.1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520, 2 ** -25, 3 * 2 ** -26];
    // IEEE 754: halfway cases take the even neighbour, and half of the least number is halfway to 0.
    expect(await rt.tensor(values, { dtype: 'f16' }).array()).to.deep.equal(
      [0.0999755859375, 1, 1 + 2 ** -9, 65504, Infinity, 0, 2 ** -24]);
    expect(await rt.tensor([1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38], { dtype: 'bf16' }).array()).to.deep.equal(
      [1, 1 + 2 ** -6, Infinity]);
    expect(await rt.tensor([0.1, 1e300], { dtype: 'f32' }).array()).to.deep.equal([Math.fround(0.1), Infinity]);
  });

  // The place, what was expected there, and what was given.
  const wrong = [
    [[[1, 2], [3]], {}, 'InvalidArgument', 'values[1]: expected 2 elements as in values[0], got 1'],
    [[[[1], [2]], [[3], [4, 5]]], {}, 'InvalidArgument',
      'values[1][1]: expected 1 elements as in values[0][0], got 2'],
    [[[1, 2], 3], {}, 'InvalidArgument', 'values[1]: expected an array of 2 elements as in values[0], got number 3'],
    [[1, [2]], {}, 'InvalidArgument', 'values[1]: expected one element as in values[0], got an array of 1 elements'],
    [[Float32Array.of(1), Float32Array.of(1, 2)], {}, 'InvalidArgument',
      'values[1]: expected 1 elements as in values[0], got 2'],
    [[1, 2n], {}, 'InvalidArgument', 'values[1]: expected all elements to be of one kind, got bigint after number'],
    [['a', true], {}, 'InvalidArgument',
      'values[1]: expected all elements to be of one kind, got boolean after string'],
    [[1, null], {}, 'InvalidArgument', 'values[1]: expected a number, got null'],
    [[1, undefined], {}, 'InvalidArgument', 'values[1]: expected a number, got undefined'],
    [[1, 2.5], { dtype: 'i32' }, 'InvalidArgument', 'values[1]: expected an integer for i32, got 2.5'],
    [[[NaN]], { dtype: 'u8' }, 'InvalidArgument', 'values[0][0]: expected an integer for u8, got NaN'],
    [[Infinity], { dtype: 'i64' }, 'InvalidArgument', 'values[0]: expected an integer for i64, got Infinity'],
    [[256], { dtype: 'u8' }, 'OutOfRange', 'values[0]: expected 0 to 255 for u8, got 256'],
    [[2n ** 63n], { dtype: 'i64' }, 'OutOfRange',
      'values[0]: expected -9223372036854775808 to 9223372036854775807 for i64, got 9223372036854775808'],
    [[-1], { dtype: 'u64' }, 'OutOfRange', 'values[0]: expected 0 to 18446744073709551615 for u64, got -1'],
    [[2], { dtype: 'bool' }, 'OutOfRange', 'values[0]: expected 0 to 1 for bool, got 2'],
    [['1'], { dtype: 'f32' }, 'InvalidArgument', 'values[0]: expected a number for f32, got string'],
    [[1], { dtype: 'string' }, 'InvalidArgument', 'values[0]: expected a string, got number 1'],
    [Float32Array.of(1, 1.5), { dtype: 'i32' }, 'InvalidArgument', 'values[1]: expected an integer for i32, got 1.5'],
    [[1, 2, 3], { dtype: 'c64' }, 'InvalidArgument',
      'values: expected pairs [re, im] for c64, got an array of 3 elements'],
    [[[[[[[[[[1]]]]]]]]], {}, 'InvalidArgument', 'values: expected at most 8 dimensions, got more'],
  ];
  for (const [values, options, code, message] of wrong) {
    it(`are refused where ${message}`, () => {
      const error = errorOf(() => rt.tensor(values, options));
      expect(error).to.be.instanceOf(TandemError);
      expect(error.message).to.equal(`[tensor] ${message}`);
      expect(error.code).to.equal(code);
    });
  }

  it('an array that contains itself is refused', () => {
    const endless = [];
    endless.push(endless);
    expect(errorOf(() => rt.tensor(endless)).message).to.match(/at most 8 dimensions/);
  });
});

describe('16-bit formats', () => {
  it('every number of 16 bits keeps its bits', () => {
    const toF32 = new Float32Array(1);
    const bits = new Uint32Array(toF32.buffer);
    for (let code = 0; code < 65536; ++code) {
      const half = f16ToNumber(code);
      if (Number.isNaN(half)) expect((code & 0x7c00) === 0x7c00 && (code & 0x3ff) !== 0).to.equal(true);
      else if (numberToF16(half) !== code) expect.fail(`f16 ${code} became ${numberToF16(half)}`);
      // A bfloat16 is the upper half of an f32.
      bits[0] = code << 16;
      const brain = bf16ToNumber(code);
      if (!Object.is(brain, toF32[0])) expect.fail(`bf16 ${code} is ${brain}, not ${toF32[0]}`);
      if (!Number.isNaN(brain) && numberToBF16(brain) !== code) expect.fail(`bf16 ${code} is not kept`);
    }
  });

  it('halfway between neighbours the even one is taken', () => {
    for (let code = 0; code < 0x7bff; ++code) {
      const middle = (f16ToNumber(code) + f16ToNumber(code + 1)) / 2;
      const even = code % 2 === 0 ? code : code + 1;
      if (numberToF16(middle) !== even || numberToF16(-middle) !== (even | 0x8000)) {
        expect.fail(`halfway above f16 ${code}: ${numberToF16(middle)}`);
      }
    }
  });
});
