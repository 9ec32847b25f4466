// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package as users see it, over the addon. index.d.ts has what each function does.

import { createRequire } from 'node:module';

const native = createRequire(import.meta.url)('./tandem.node');

export class TandemError extends Error {
  constructor(code, message, { op, location, text, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TandemError';
    this.code = code;
    if (op) this.op = op;
    if (text) this.text = text;
    this.location = location || callerLocation();
  }
}

// Where the user's program is, "file:line:column": the first frame that is not of this file.
function callerLocation() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 16;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  for (const line of stack.split('\n').slice(1)) {
    const place = /^\s*at (?:.* \()?(.+:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !place.startsWith(import.meta.url) && !place.startsWith('node:')) return place;
  }
  return '';
}

native.setErrorFactory((code, message, op, location, text, cause) =>
  new TandemError(code, message, { op, location, text, cause }));

const wrong = (message) => new TandemError('InvalidArgument', message);

/** The version of the library, such as '0.1.0'. */
export const version = native.version();

// Element types, in the order of their codes, which begin with 1.
const DTYPES = ['bool', 'u8', 'i8', 'u16', 'i16', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64', 'c64',
  'string'];
const ARRAYS = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, i32: Int32Array,
  u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, f16: Uint16Array, bf16: Uint16Array, f32: Float32Array,
  f64: Float64Array, c64: Float32Array,
};
const OF_ARRAYS = new Map([
  [Uint8Array, 'u8'], [Uint8ClampedArray, 'u8'], [Int8Array, 'i8'], [Uint16Array, 'u16'], [Int16Array, 'i16'],
  [Int32Array, 'i32'], [Uint32Array, 'u32'], [BigInt64Array, 'i64'], [BigUint64Array, 'u64'], [Float32Array, 'f32'],
  [Float64Array, 'f64'],
]);
const ALIGNMENT = 64;

function codeOf(dtype) {
  const code = DTYPES.indexOf(dtype) + 1;
  if (code === 0) throw wrong(`expected one of the dtypes ${DTYPES.join(', ')}, got ${String(dtype)}`);
  return code;
}

function arrayOf(dtype) {
  codeOf(dtype);
  if (dtype === 'string') throw wrong('expected a dtype of numbers, got string');
  return ARRAYS[dtype];
}

function checkShape(shape) {
  const isShape = Array.isArray(shape) && shape.every((dim) => Number.isSafeInteger(dim));
  if (!isShape) throw wrong(`expected a shape, a list of integers, got ${String(shape)}`);
  return shape;
}

/** A typed array for elements of the dtype whose memory is aligned to 64 bytes, as compiled functions want it. */
export function alignedArray(dtype, length) {
  const Type = arrayOf(dtype);
  if (!Number.isSafeInteger(length) || length < 0) throw wrong(`expected a number of elements, got ${String(length)}`);
  const size = length * Type.BYTES_PER_ELEMENT;
  const buffer = new ArrayBuffer(size + ALIGNMENT);
  const address = native.addressOf(new Uint8Array(buffer));
  return new Type(buffer, Number((BigInt(ALIGNMENT) - address % BigInt(ALIGNMENT)) % BigInt(ALIGNMENT)), length);
}

/** Where the elements of a typed array are in memory. */
export function addressOf(array) {
  if (!ArrayBuffer.isView(array)) throw wrong('expected a typed array');
  return native.addressOf(array);
}

// The elements of nested arrays, which are all of one shape, in row-major order.
function flatten(value, shape, depth, elements) {
  if (!Array.isArray(value)) {
    if (depth !== shape.length) throw wrong(`expected nested arrays of the shape [${shape}], got a shallower one`);
    elements.push(value);
    return;
  }
  if (depth === shape.length || value.length !== shape[depth]) {
    throw wrong(`expected nested arrays of the shape [${shape}], got one of ${value.length} elements`);
  }
  for (const element of value) flatten(element, shape, depth + 1, elements);
}

function shapeOf(value) {
  const shape = [];
  for (let inner = value; Array.isArray(inner); inner = inner[0]) shape.push(inner.length);
  return shape;
}

const USUAL = { number: 'f32', bigint: 'i64', boolean: 'bool', string: 'string' };

// What makes a tensor of `data`: elements, dtype and shape.
function readData(data, shape, dtype) {
  if (ArrayBuffer.isView(data)) {
    const given = OF_ARRAYS.get(data.constructor);
    if (given === undefined) throw wrong(`expected a typed array of numbers, got a ${data.constructor.name}`);
    const type = dtype ?? given;
    if (!(data instanceof arrayOf(type)) && given !== type) {
      throw wrong(`expected a ${arrayOf(type).name} for ${type}, got a ${data.constructor.name}`);
    }
    return { elements: data, dtype: type, shape: shape ?? [type === 'c64' ? data.length / 2 : data.length] };
  }
  const own = shapeOf(data);
  const values = [];
  flatten(data, own, 0, values);
  const kind = typeof values[0];
  const type = dtype ?? (values.length === 0 ? 'f32' : USUAL[kind]);
  if (type === undefined || values.some((value) => typeof value !== kind)) {
    throw wrong('expected numbers, bigints, booleans or strings, all of one kind');
  }
  if (type === 'string') return { elements: values, dtype: type, shape: shape ?? own };
  const Type = arrayOf(type);
  if (['f16', 'bf16', 'c64'].includes(type)) throw wrong(`expected a ${Type.name} for ${type}, got a list`);
  const isBig = type === 'i64' || type === 'u64';
  try {
    return { elements: Type.from(values, isBig ? BigInt : Number), dtype: type, shape: shape ?? own };
  } catch (error) {
    throw wrong(`expected elements of ${type}, got ${error.message}`);
  }
}

const make = Symbol('make');

/** A tensor: see index.d.ts. */
export class Tensor {
  #handle;
  #view;
  runtime;

  constructor(key, runtime, handle, view) {
    if (key !== make) throw wrong('expected tensors to be made by a runtime');
    this.runtime = runtime;
    this.#handle = handle;
    this.#view = view;
  }

  static handleOf(key, tensor) {
    if (key !== make) throw wrong('expected no call of this function');
    return tensor.#live();
  }

  #live() {
    if (this.#handle === undefined) throw new TandemError('FailedPrecondition', 'the tensor has been disposed of');
    return this.#handle;
  }

  get state() { return native.state(this.#live()); }
  get dtype() { return DTYPES[native.dtype(this.#live()) - 1]; }
  get shape() { return native.shape(this.#live()); }
  get size() { return this.shape.reduce((product, dim) => product * dim, 1); }
  get disposed() { return this.#handle === undefined; }

  async ready() {
    await native.ready(this.#live());
    return this;
  }

  view() {
    const handle = this.#live();
    if (this.#view !== undefined) return this.#view;
    if (this.state === 'pending') {
      throw new TandemError('FailedPrecondition', 'expected an available tensor to view, got a pending one: await it');
    }
    const { dtype } = this;
    const Type = arrayOf(dtype);
    return this.#view = new Type(native.view(handle));
  }

  async data() {
    await native.ready(this.#live());
    const handle = this.#live();
    return this.dtype === 'string' ? native.strings(handle, this.size) : this.view().slice();
  }

  async array() {
    const data = await this.data();
    const { shape, dtype } = this;
    if (shape.length === 0) return dtype === 'bool' ? data[0] !== 0 : data[0];
    let level = dtype === 'bool' ? Array.from(data, Boolean) : Array.from(data);
    for (let i = shape.length - 1; i > 0; --i) {
      const count = shape.slice(0, i).reduce((product, dim) => product * dim, 1);
      level = Array.from({ length: count }, (_, at) => level.slice(at * shape[i], (at + 1) * shape[i]));
    }
    return level;
  }

  async text(maxElements = 16) {
    await native.ready(this.#live());
    return native.text(this.#live(), maxElements);
  }

  get address() { return native.address(this.#live()); }

  dispose() {
    if (this.#handle === undefined) return;
    native.releaseTensor(this.#handle);
    this.#handle = undefined;
    this.#view = undefined;
  }
}
if (Symbol.dispose !== undefined) Tensor.prototype[Symbol.dispose] = Tensor.prototype.dispose;

// Attributes of a call as the addon takes them.
function readAttrs(definition, attrs) {
  return Object.entries(attrs).filter(([, value]) => value !== undefined).map(([name, value]) => {
    const attr = definition?.attrs.find((known) => known.name === name);
    // The call says that it is not defined.
    if (attr === undefined) return [name, 'string', false, ''];
    try {
      return [name, attr.kind, attr.list, readAttr(attr, value)];
    } catch (error) {
      throw error instanceof TandemError ? error : wrong(`[${definition.name}] attribute ${name}: ${error.message}`);
    }
  });
}

function readAttr({ name, kind, list, spec }, value) {
  const isRight = {
    bool: (it) => typeof it === 'boolean',
    int: (it) => typeof it === 'bigint' || Number.isSafeInteger(it),
    float: (it) => typeof it === 'number',
    type: (it) => DTYPES.includes(it),
    shape: (it) => Array.isArray(it) && it.every((dim) => Number.isSafeInteger(dim)),
    string: (it) => typeof it === 'string',
    func: (it) => typeof it === 'string',
  }[kind];
  if (isRight === undefined) {
    throw new TandemError('Unimplemented', `attribute ${name} of kind ${kind} cannot be given from JavaScript`);
  }
  if (list ? !(Array.isArray(value) && value.every(isRight)) : !isRight(value)) {
    throw wrong(`attribute ${name} must be as in ${spec}, got ${String(value)}`);
  }
  if (kind !== 'type') return value;
  return list ? value.map(codeOf) : codeOf(value);
}

/** Devices, threads and memory: see index.d.ts. */
export class Runtime {
  #handle;
  #device;
  #tracksLocations;
  #definitions;
  #numTables = 0;
  #hasTvmOps = false;

  constructor(options = {}) {
    const { threads = 0, memoryLimit = 0, device = '', exact = false, fuse = true, trackLocations = true } = options;
    for (const [name, value] of Object.entries({ threads, memoryLimit })) {
      const isCount = Number.isSafeInteger(value) && value >= 0;
      if (!isCount) throw wrong(`expected ${name} to be a count, got ${String(value)}`);
    }
    this.#handle = native.createRuntime(threads, memoryLimit, String(device), Boolean(exact), Boolean(fuse));
    this.#device = String(device);
    this.#tracksLocations = Boolean(trackLocations);
  }

  #live() {
    if (this.#handle === undefined) throw new TandemError('FailedPrecondition', 'the runtime has been disposed of');
    return this.#handle;
  }

  // The definition of an op, of libraries that have come since, too; undefined for none.
  #definition(op) {
    if (!this.#definitions?.has(op)) {
      const { ops } = JSON.parse(native.registryJson(this.#live()));
      this.#definitions = new Map(ops.map((definition) => [definition.name, definition]));
    }
    return this.#definitions.get(op);
  }

  get device() { return this.#device || 'cpu'; }

  tensor(data, shape, dtype) {
    const read = readData(data, shape === undefined ? undefined : checkShape(shape), dtype);
    const handle = read.dtype === 'string'
      ? native.createStrings(this.#live(), read.shape, read.elements)
      : native.createTensor(this.#live(), codeOf(read.dtype), read.shape, read.elements, true);
    return new Tensor(make, this, handle);
  }

  wrap(array, shape, dtype) {
    if (!ArrayBuffer.isView(array)) throw wrong('expected a typed array whose memory is the tensor');
    const { buffer } = array;
    if (!(buffer instanceof ArrayBuffer) || buffer.resizable) {
      throw wrong('expected an array over an ArrayBuffer that can be neither shared nor resized');
    }
    const read = readData(array, shape === undefined ? undefined : checkShape(shape), dtype);
    const handle = native.createTensor(this.#live(), codeOf(read.dtype), read.shape, array, false);
    return new Tensor(make, this, handle, array);
  }

  #operand(value) {
    return value instanceof Tensor ? value : this.tensor(value);
  }

  execute(op, inputs = [], attrs = {}, { device = this.#device, results } = {}) {
    if (typeof op !== 'string' || !Array.isArray(inputs)) {
      throw wrong('expected the name of an op and a list of inputs');
    }
    const definition = this.#definition(op);
    const given = readAttrs(definition, attrs);
    const operands = inputs.map((input) => this.#operand(input));
    const count = results ?? this.#countOf(definition, attrs, operands.length);
    const location = this.#tracksLocations ? callerLocation() : '';
    const handles = native.execute(this.#live(), op, operands.map((operand) => Tensor.handleOf(make, operand)), given,
      device, location, count);
    operands.forEach((operand, i) => operand === inputs[i] || operand.dispose());
    return handles.map((handle) => new Tensor(make, this, handle));
  }

  // How many results a call has.
  #countOf(definition, attrs, numInputs) {
    let count = 0;
    const listOf = (arg) => arg.number_attr ?? arg.type_list_attr;
    for (const output of definition?.outputs ?? [{}]) {
      const name = listOf(output);
      if (name === undefined) {
        ++count;
        continue;
      }
      const value = attrs[name] ?? definition.attrs.find((attr) => attr.name === name)?.default;
      if (value !== undefined) {
        count += Array.isArray(value) ? value.length : Number(value);
      } else if (definition.inputs.length === 1 && listOf(definition.inputs[0]) === name) {
        count += numInputs;
      } else {
        throw wrong(`[${definition.name}] expected options.results, since the attributes do not tell how many`);
      }
    }
    return count;
  }

  loadOpLibrary(path) {
    const library = native.loadOpLibrary(this.#live(), String(path), callerLocation());
    this.#definitions = undefined;
    return { unload: () => native.unloadOpLibrary(library) };
  }

  addDevice(device) { native.addDevice(this.#live(), String(device)); }

  useDevice(device) {
    native.addLayers(this.#live(), String(device));
    this.#device = String(device);
  }

  substitute(table) {
    const name = `table${++this.#numTables}`;
    if (typeof table?.library === 'string') {
      native.loadSubstitutions(this.#live(), name, table.library);
    } else {
      native.addSubstitutions(this.#live(), name, typeof table === 'string' ? table : JSON.stringify(table));
    }
    this.useDevice(`substitute:${name}|${this.device}`);
  }

  addTvmOps() {
    if (!this.#hasTvmOps) native.addTvmOps(this.#live());
    this.#hasTvmOps = true;
  }

  memory() {
    const [bytesInUse, peakBytesInUse, bytesCached] = native.memory(this.#live());
    return { bytesInUse, peakBytesInUse, bytesCached };
  }

  cancel(reason = 'cancelled') { native.cancel(this.#live(), String(reason)); }
  restart() { native.restart(this.#live()); }

  dispose() {
    if (this.#handle === undefined) return;
    native.destroyRuntime(this.#handle);
    this.#handle = undefined;
  }
}
if (Symbol.dispose !== undefined) Runtime.prototype[Symbol.dispose] = Runtime.prototype.dispose;

/** A runtime with the CPU and all ops. */
export function createRuntime(options) {
  return new Runtime(options);
}

// What the results of a compiled function are, as attributes, and the tensor that has their shape.
function readOutputs(outputs, first) {
  const attrs = { output_dtype: outputs.map((output) => output.dtype ?? first.dtype) };
  const shapes = outputs.map((output) => output.shape).filter((shape) => shape !== undefined);
  if (shapes[0] instanceof Tensor) {
    if (outputs.length !== 1) throw wrong('expected one result where a tensor is its shape');
    return { attrs, shape: shapes[0] };
  }
  if (shapes.length !== 0 && shapes.length !== outputs.length) {
    throw wrong(`expected a shape for each of ${outputs.length} results, or none, got ${shapes.length}`);
  }
  if (shapes.length !== 0) attrs.output_shape = shapes.map(checkShape);
  return { attrs };
}

const isOptions = (value) => typeof value === 'object' && value !== null && !(value instanceof Tensor) &&
  !Array.isArray(value) && !ArrayBuffer.isView(value);

function callFunction(path, name, args) {
  const inputs = [...args];
  const options = isOptions(inputs.at(-1)) ? inputs.pop() : {};
  const first = inputs.find((input) => input instanceof Tensor);
  if (first === undefined) throw wrong(`[${name}] expected at least one argument that is a tensor`);
  const { runtime } = first;
  runtime.addTvmOps();
  if (!(inputs[0] instanceof Tensor)) inputs[0] = runtime.tensor(inputs[0]);
  const { attrs, shape } = readOutputs(options.outputs ?? [options], inputs[0]);
  const results = runtime.execute(shape === undefined ? 'tandem.TvmDso' : 'tandem.TvmDsoDynamic',
    shape === undefined ? inputs : [shape, ...inputs], { lib_path: path, func_name: name, ...attrs });
  return options.outputs === undefined ? results[0] : results;
}

/** The functions of a library that TVM compiled: see index.d.ts. */
export function loadModule(path) {
  const library = native.loadTvmLibrary(String(path));
  const file = native.tvmLibraryPath(library);
  const functions = new Map();
  return new Proxy({}, {
    get(_, name) {
      // A module is not to be awaited.
      if (typeof name !== 'string' || name === 'then') return undefined;
      if (!functions.has(name)) {
        native.checkTvmFunction(library, name);
        functions.set(name, (...args) => callFunction(file, name, args));
      }
      return functions.get(name);
    },
  });
}
