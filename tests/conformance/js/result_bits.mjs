// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A hash of results, bit for bit, to compare those of different targets by: what runner/result_bits.h says.

// By dtype: an array of bits, those of a number without its sign, of infinity, and of the NaN that stands for all.
const FLOATS = {
  f16: [Uint16Array, 0x7fff, 0x7c00, 0x7e00],
  bf16: [Uint16Array, 0x7fff, 0x7f80, 0x7fc0],
  f32: [Uint32Array, 0x7fffffff, 0x7f800000, 0x7fc00000],
  c64: [Uint32Array, 0x7fffffff, 0x7f800000, 0x7fc00000],
  f64: [BigUint64Array, 0x7fffffffffffffffn, 0x7ff0000000000000n, 0x7ff8000000000000n],
};
const PRIME_LOW = 0x1b3;  // the prime is 2^40 more

/** FNV-1a of 64 bits over results. */
export class ResultBits {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  /** A tensor, with data as `Tensor.data()` gives it. */
  add({ dtype, shape, data }) {
    this.#addText(dtype);
    this.#addNumbers([shape.length, ...shape]);
    if (dtype === 'string') {
      for (const text of data) this.#addString(text);
    } else if (dtype in FLOATS) {
      this.#addFloats(data, ...FLOATS[dtype]);
    } else {
      this.#addBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
  }

  /** For a result that is an error: the word alone. */
  addError() {
    this.#addText('error');
  }

  /** 16 hexadecimal digits. */
  hash() {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(8, '0')).join('');
  }

  #addFloats(data, Bits, magnitude, infinity, nan) {
    const bits = new Bits(data.slice().buffer);
    for (let i = 0; i < bits.length; ++i) {
      if ((bits[i] & magnitude) > infinity) bits[i] = nan;
    }
    this.#addBytes(new Uint8Array(bits.buffer));
  }

  #addString(text) {
    const bytes = new TextEncoder().encode(text);
    this.#addNumbers([bytes.length]);
    this.#addBytes(bytes);
  }

  #addText(text) {
    this.#addBytes(new TextEncoder().encode(text));
  }

  #addNumbers(numbers) {
    this.#addBytes(new Uint8Array(new BigInt64Array(numbers.map(BigInt)).buffer));
  }

  #addBytes(bytes) {
    let high = this.#high;
    let low = this.#low;
    for (let i = 0; i < bytes.length; ++i) {
      low = (low ^ bytes[i]) >>> 0;
      // Below 2^53, so that nothing is lost.
      const product = low * PRIME_LOW;
      high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) >>> 0;
      low = product >>> 0;
    }
    this.#high = high;
    this.#low = low;
  }
}
