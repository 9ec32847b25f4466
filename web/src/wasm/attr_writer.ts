// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes of a call, written into the module.

import { dtypeCode } from '../dtypes.js';
import type { DType, TypedArray } from '../dtypes.js';
import type { AttrWriter } from '../engine.js';
import type { WasmEngine } from './engine.js';
import { encodeText } from './heap.js';
import type { WasmExports } from './module.js';

const NUL = new Uint8Array(1);

// What the module does not accept is told by the call that gets the attributes.
type Set = (exports: WasmExports, attrs: number, name: number) => unknown;

/** Writes attributes into a module. Each setter frees the memory that it took. */
export class WasmAttrWriter implements AttrWriter {
  pointer = 0;
  private readonly addresses: number[] = [];

  constructor(private readonly engine: WasmEngine) {}

  bool(name: string, value: boolean): void {
    this.set(name, (exports, attrs, at) => exports.tandem_attrs_set_bool(attrs, at, Number(value)));
  }

  int(name: string, value: number): void {
    this.set(name, (exports, attrs, at) => exports.tandem_js_attrs_set_int(attrs, at, value));
  }

  float(name: string, value: number): void {
    this.set(name, (exports, attrs, at) => exports.tandem_attrs_set_float(attrs, at, value));
  }

  string(name: string, value: string): void {
    const text = encodeText(value);
    this.set(name, (exports, attrs, at) => exports.tandem_attrs_set_string(attrs, at, this.bytes(text), text.length));
  }

  dtype(name: string, value: DType): void {
    this.set(name, (exports, attrs, at) => exports.tandem_attrs_set_dtype(attrs, at, dtypeCode(value)));
  }

  shape(name: string, value: readonly (number | bigint)[]): void {
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_shape(attrs, at, this.int64s(value), value.length));
  }

  tensor(name: string, dtype: DType, shape: readonly number[], elements: TypedArray): void {
    const { buffer, byteLength, byteOffset } = elements;
    this.set(name, (exports, attrs, at) => exports.tandem_attrs_set_tensor(attrs, at, dtypeCode(dtype),
      this.int64s(shape), shape.length, this.bytes(new Uint8Array(buffer, byteOffset, byteLength)), byteLength));
  }

  func(name: string, value: string): void {
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_function(attrs, at, this.bytes(encodeText(value), NUL)));
  }

  bools(name: string, values: readonly boolean[]): void {
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_bools(attrs, at, this.bytes(Uint8Array.from(values, Number)), values.length));
  }

  ints(name: string, values: readonly (number | bigint)[]): void {
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_ints(attrs, at, this.int64s(values), values.length));
  }

  floats(name: string, values: Float32Array): void {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_floats(attrs, at, this.bytes(bytes), values.length));
  }

  strings(name: string, values: readonly string[]): void {
    this.set(name, (exports, attrs, at) => {
      const texts = this.keep(this.engine.heap.newStrings(values));
      return exports.tandem_attrs_set_strings(attrs, at, texts, texts + 4 * values.length, values.length);
    });
  }

  dtypes(name: string, values: readonly DType[]): void {
    this.set(name, (exports, attrs, at) =>
      exports.tandem_attrs_set_dtypes(attrs, at, this.words(values.map(dtypeCode)), values.length));
  }

  shapes(name: string, values: readonly (readonly (number | bigint)[])[]): void {
    this.set(name, (exports, attrs, at) => {
      const ranks = this.words(values.map((shape) => shape.length));
      return exports.tandem_attrs_set_shapes(attrs, at, this.int64s(values.flat()), ranks, values.length);
    });
  }

  private set(name: string, fn: Set): void {
    const { engine } = this;
    if (this.pointer === 0) this.pointer = engine.ask((exports, scratch) => exports.tandem_attrs_create(scratch));
    try {
      engine.guard((exports) => fn(exports, this.pointer, engine.name(name)));
    } finally {
      for (const address of this.addresses) engine.free(address);
      this.addresses.length = 0;
    }
  }

  private keep(address: number): number {
    this.addresses.push(address);
    return address;
  }

  private take(size: number): number {
    return this.keep(this.engine.heap.malloc(size));
  }

  private bytes(...parts: readonly Uint8Array[]): number {
    const address = this.take(parts.reduce((sum, part) => sum + part.length, 0));
    let at = address;
    for (const part of parts) {
      this.engine.heap.u8.set(part, at);
      at += part.length;
    }
    return address;
  }

  private words(values: readonly number[]): number {
    const address = this.take(4 * values.length);
    this.engine.heap.u32.set(values, address >>> 2);
    return address;
  }

  private int64s(values: readonly (number | bigint)[]): number {
    const address = this.take(8 * values.length);
    this.engine.heap.writeInt64s(address, values);
    return address;
  }
}
