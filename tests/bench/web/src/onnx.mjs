// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Writes ONNX models: just the parts of the format that the bench needs, as protocol buffers.

const FLOAT = 1;
const INT64 = 7;

class Message {
  #parts = [];

  #varint(value) {
    const bytes = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    this.#parts.push(Uint8Array.from(bytes));
  }

  int(field, value) {
    this.#varint(field << 3);
    this.#varint(value);
    return this;
  }

  float(field, value) {
    this.#varint((field << 3) | 5);
    this.#parts.push(new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  bytes(field, value) {
    this.#varint((field << 3) | 2);
    this.#varint(value.length);
    this.#parts.push(value);
    return this;
  }

  text(field, value) {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field, value) {
    return this.bytes(field, value.finish());
  }

  finish() {
    const all = new Uint8Array(this.#parts.reduce((size, part) => size + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

function attribute(name, value) {
  const message = new Message().text(1, name);
  if (typeof value === 'string') return message.text(4, value).int(20, 3);
  if (typeof value === 'bigint') return message.int(3, value).int(20, 2);
  if (typeof value === 'number') return message.float(2, value).int(20, 1);
  for (const item of value) message.int(8, item);
  return message.int(20, 7);
}

function valueInfo(name, type, shape) {
  const dims = new Message();
  for (const size of shape) dims.message(1, new Message().int(1, size));
  return new Message().text(1, name).message(2, new Message().message(1, new Message().int(1, type).message(2, dims)));
}

function tensor(name, type, shape, values) {
  const message = new Message();
  for (const size of shape) message.int(1, size);
  return message
    .int(2, type)
    .text(8, name)
    .bytes(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

/** A graph under construction. Values are referred to by their names. */
export class OnnxGraph {
  #graph = new Message().text(2, 'bench');
  #count = 0;

  /** Adds an input of the graph: f32, or i64 where `integer`. */
  input(name, shape, integer = false) {
    this.#graph.message(11, valueInfo(name, integer ? INT64 : FLOAT, shape));
    return name;
  }

  /** Adds a constant: a Float32Array, or integers (BigInt64Array). */
  constant(shape, values) {
    const name = `c${this.#count++}`;
    this.#graph.message(5, tensor(name, values instanceof BigInt64Array ? INT64 : FLOAT, shape, values));
    return name;
  }

  /** The constant vector of these integers, as axes and shapes are given. */
  integers(...values) {
    return this.constant([values.length], BigInt64Array.from(values, BigInt));
  }

  /** Adds a node with one result. Attributes: numbers are floats, bigints integers, arrays lists of integers. */
  node(type, inputs, attributes = {}, output = `v${this.#count++}`) {
    const node = new Message();
    for (const input of inputs) node.text(1, input);
    node.text(2, output).text(4, type);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#graph.message(1, node);
    return output;
  }

  /** Makes `name` (f32 of `shape`) the graph's output and returns the model's bytes. */
  finish(name, shape) {
    this.#graph.message(12, valueInfo(name, FLOAT, shape));
    const opset = new Message().text(1, '').int(2, 20);
    return new Message().int(1, 9).text(2, 'tandem-bench').message(7, this.#graph).message(8, opset).finish();
  }
}
