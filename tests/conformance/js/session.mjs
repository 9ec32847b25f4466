// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One call for each run of a case, and everything that is checked about it.

import { compare, describeTensor, isSame } from './comparison.mjs';
import { parseTensor } from './conformance_case.mjs';
import { ResultBits } from './result_bits.mjs';

const MOST_RESULTS = 1000;  // more is a wrong call, which fails before results matter

function isInteger(value) {
  if (typeof value === 'string') return /^-?\d+$/.test(value);
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

/** How many tensors an argument of the definition stands for. */
function sequenceLength(arg, def, attrs, numArgs) {
  const attr = arg.number_attr ?? arg.type_list_attr;
  if (attr === undefined) return 1;
  if (Array.isArray(attrs[attr])) return attrs[attr].length;
  if (attr in attrs) return isInteger(attrs[attr]) ? Number(attrs[attr]) : 1;
  const same = def.inputs.filter(
    (input) => input.number_attr === arg.number_attr && input.type_list_attr === arg.type_list_attr);
  if (same.length === 0) return Number(def.attrs.find(({ name }) => name === attr)?.default ?? 1);
  return Math.trunc((numArgs - (def.inputs.length - same.length)) / same.length);
}

function countResults(def, attrs, numArgs) {
  const counts = def.outputs.map((output) => sequenceLength(output, def, attrs, numArgs));
  return counts.reduce((sum, count) => sum + Math.min(Math.max(count, 0), MOST_RESULTS), 0);
}

/** An attribute's value as the package takes it, by the definition's kind; as it is where it is of another kind. */
function attributeValue(value, kind) {
  if (Array.isArray(value)) return value.map((element) => attributeValue(element, kind));
  if (kind === 'int' && typeof value === 'string' && isInteger(value)) return BigInt(value);
  if (typeof value !== 'object' || value === null) return value;
  if (kind === 'any') return anyValue(value);
  if (!('shape' in value)) return value;
  const { dtype, shape, data: values } = parseTensor(value);
  return { values, shape, dtype };
}

// {"dtype": "f32", "data": [1, 2]}, or one value as data.
function anyValue({ dtype, data }) {
  const isList = Array.isArray(data);
  const list = isList ? data : [data];
  const elements = parseTensor({ dtype, shape: [list.length], data: list }).data;
  if (dtype === 'bool') return isList ? Array.from(elements, Boolean) : elements[0] === 1;
  return isList ? elements : elements[0];
}

async function dataOf(tensor) {
  // Shape and dtype may be known with the elements only.
  const data = await tensor.data();
  return { dtype: tensor.dtype, shape: [...tensor.shape], data };
}

/** Cases on one runtime. */
export class Session {
  #runtime;
  #definitions;
  #exact;

  /**
   * @param runtime of the package, for nothing else in the meantime
   * @param exact whether the runtime is
   */
  constructor(runtime, exact) {
    this.#runtime = runtime;
    this.#exact = exact;
    this.#definitions = new Map(runtime.ops().map((def) => [def.name, def]));
  }

  /** The dtype that the report counts the case under; empty for wrong calls. */
  kernelDType({ op, error, inputs, outputs }) {
    const def = this.#definitions.get(op);
    if (def === undefined || error !== undefined) return '';
    const index = def.inputs.findIndex((input, i) => i < inputs.length && input.type_attr !== undefined &&
      input.type_attr === def.kernel_type_attr && !input.host_input);
    return (inputs[index] ?? outputs[0] ?? inputs[0])?.dtype ?? '';
  }

  /**
   * { failure, worstUlp, bits }: the failure is empty if the case passes; `bits` is the hash of its results then, unless
   * it is a wrong call. Throws an Error if the case itself is wrong.
   */
  async run(conformanceCase) {
    const copied = await this.#runOnce(conformanceCase, 'copied');
    if (copied.failure !== '') return copied;
    const written = await this.#runOnce(conformanceCase, 'written');
    const result = { ...written, worstUlp: Math.max(copied.worstUlp, written.worstUlp) };
    if (!this.#exact || result.failure !== '' || written.bits === copied.bits) return result;
    return { ...result, failure: 'NU-3: results have other bits where inputs lie elsewhere in memory' };
  }

  async #runOnce(conformanceCase, memory) {
    const runtime = this.#runtime;
    const before = runtime.memory();
    const result = await this.#call(conformanceCase, memory);
    await this.#settle();
    const after = runtime.memory();
    if (result.failure !== '') return result;
    const bytes = after.bytesInUse - before.bytesInUse;
    if (bytes !== 0) return { ...result, failure: `${bytes} bytes of tensors are left` };
    return result;
  }

  /** Waits until nothing is queued or running; the error that effects ended with, or undefined. */
  #settle() {
    return this.#runtime.settled().then(() => undefined, (error) => error);
  }

  async #call(conformanceCase, memory) {
    const def = this.#definitions.get(conformanceCase.op);
    const attrs = this.#attributes(conformanceCase, def);
    const inputs = this.#makeInputs(conformanceCase, memory);
    const results = def === undefined ? 1 : countResults(def, conformanceCase.attrs, inputs.length);
    const hasEffects = results === 0 || def?.side_effects === true;
    let tensors = [];
    let thrown;
    try {
      tensors = this.#runtime.execute(conformanceCase.op, inputs, attrs, { results });
    } catch (error) {
      thrown = error;
    }
    const isInPlace = conformanceCase.tags.includes('inplace');
    if (isInPlace) inputs.forEach((input) => input.dispose());
    try {
      const outcome = conformanceCase.error === undefined
        ? await this.#checkResults(conformanceCase, tensors, thrown, hasEffects)
        : await this.#checkError(conformanceCase.error, tensors, thrown, hasEffects);
      return isInPlace || outcome.failure !== '' ? outcome : await this.#checkInputs(conformanceCase, inputs, outcome);
    } finally {
      for (const tensor of [...tensors, ...inputs]) tensor.dispose();
    }
  }

  #attributes({ attrs }, def) {
    return Object.fromEntries(Object.entries(attrs).map(([name, value]) => {
      if (value === null) throw new Error(`attribute ${name} cannot be null`);
      return [name, attributeValue(value, def?.attrs.find((attr) => attr.name === name)?.kind)];
    }));
  }

  #makeInput({ dtype, shape, data }, memory) {
    if (memory === 'copied' || dtype === 'string') return this.#runtime.tensor(data, { shape, dtype });
    const allocation = this.#runtime.alloc(shape, dtype);
    allocation.view().set(data);
    return allocation.tensor();
  }

  #makeInputs({ inputs, tags }, memory) {
    const tensors = [];
    for (const [i, input] of inputs.entries()) {
      const first = tags.includes('alias') ? inputs.findIndex((other) => isSame(other, input)) : i;
      tensors.push(first < i ? tensors[first].clone() : this.#makeInput(input, memory));
    }
    return tensors;
  }

  async #checkResults({ outputs, tolerance, tags }, tensors, thrown, hasEffects) {
    if (thrown !== undefined) return { failure: `the call failed: ${thrown}`, worstUlp: 0 };
    if (outputs.length > tensors.length) {
      return { failure: `expected ${outputs.length} results, the op has ${tensors.length}`, worstUlp: 0 };
    }
    let worstUlp = 0;
    const bits = new ResultBits();
    for (const [i, tensor] of tensors.entries()) {
      const said = tensor.state === 'available' ? describeTensor(tensor) : undefined;
      let actual;
      try {
        actual = await dataOf(tensor);
      } catch (error) {
        if (i < outputs.length) return { failure: `result ${i}: ${error}`, worstUlp };
        bits.addError();
        continue;
      }
      bits.add(actual);
      if (i >= outputs.length) continue;
      if (said !== undefined && said !== describeTensor(actual)) {
        return { failure: `result ${i}: ${said} was said, it is ${describeTensor(actual)}`, worstUlp };
      }
      const comparison = compare(outputs[i], actual, tolerance, tags.includes('special'));
      worstUlp = Math.max(worstUlp, comparison.worstUlp);
      if (comparison.difference !== '') return { failure: `result ${i}: ${comparison.difference}`, worstUlp };
    }
    const effect = hasEffects ? await this.#settle() : undefined;
    return { failure: effect === undefined ? '' : `effects: ${effect}`, worstUlp, bits: bits.hash() };
  }

  async #checkError(expected, tensors, thrown, hasEffects) {
    const differs = (what, message) => {
      if (message === expected) return '';
      const got = message === undefined ? 'none' : `"${message}"`;
      return `${what}expected the error "${expected}", got ${got}`;
    };
    if (thrown !== undefined) return { failure: differs('', thrown.message), worstUlp: 0 };
    for (const [i, tensor] of tensors.entries()) {
      const error = await tensor.ready().then(() => undefined, (reason) => reason);
      const failure = differs(`result ${i}: `, error?.message);
      if (failure !== '') return { failure, worstUlp: 0 };
    }
    return { failure: hasEffects ? differs('effects: ', (await this.#settle())?.message) : '', worstUlp: 0 };
  }

  async #checkInputs({ inputs }, tensors, outcome) {
    for (const [i, tensor] of tensors.entries()) {
      if (!isSame(inputs[i], await dataOf(tensor))) return { ...outcome, failure: `argument ${i}: was changed` };
    }
    return outcome;
  }
}
