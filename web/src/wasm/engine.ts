// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WasmEngine: a module instance at work: calls into it, errors out of it, and its end. A handle is an address.

import { MAX_RANK, STATES } from '../codes.js';
import { arrayType, dtypeCode, dtypeOfCode, partsOf } from '../dtypes.js';
import type { DType, TypedArray } from '../dtypes.js';
import { Engine } from '../engine.js';
import type { AttrWriter, CallOptions, Description, EngineOptions, NewTensor, TensorState } from '../engine.js';
import { attribute, codeOfNumber, numberOfCode, TandemError, textOf } from '../errors.js';
import type { Entry } from '../errors.js';
import type { EventSink } from '../events.js';
import type { Files } from '../files.js';
import type { HostMemoryInfo } from '../memory.js';
import type { ModulePart } from '../module_files.js';
import { platform } from '../platform.js';
import type { Programs, ProgramsPackage } from '../programs.js';
import { WasmAttrWriter } from './attr_writer.js';
import { decodeText, Heap } from './heap.js';
import {
  CallOptionsLayout, DescriptionLayout, EventKind, EventLayout, MemoryInfoLayout, StringLayout,
} from './layout.js';
import type { WasmExports, WasmInstance } from './module.js';
import { MAX_EVENTS, MAX_TENSORS, Scratch } from './scratch.js';
import type { WasmGpu } from './webgpu_source.js';

// Places of calls that are kept, and how long they may be.
const MAX_LOCATIONS = 10_000;
const MAX_LOCATION_LENGTH = 1024;

// As a list of small integers, where they are such, which engines of JavaScript keep apart from other numbers.
function integersAt(f64: Float64Array, first: number, count: number): number[] {
  const list: number[] = [];
  for (let i = first; i < first + count; ++i) {
    const value = f64[i]!;
    list.push((value | 0) === value ? value | 0 : value);
  }
  return list;
}

const failClosed = (): never => {
  throw new Error('the module is closed');
};
const NO_EXPORTS = {} as WasmExports;

/** An engine that is an instance of the WebAssembly module. */
export class WasmEngine extends Engine {
  args: Uint32Array = new Uint32Array(0);
  exports: WasmExports;
  readonly heap: Heap;
  /** The tandem_js*. */
  readonly js: number;
  declare gpu: WasmGpu | undefined;
  readonly runtime: number;
  private readonly resultsAt: number;
  private opExecute: (op: number, args: number, count: number, options: number, results: number,
    numResults: number) => number;
  private tensorRelease: (tensor: number) => number;
  private readonly names = new Map<string, number>();
  private locations = new Map<string, number>();
  /** Undefined once it is closed. */
  instance: WasmInstance | undefined;
  private readonly parts: Partial<Record<ModulePart, Promise<void> | undefined>> = {};
  private kernelsLoading: Promise<void> | undefined;
  private hasAllKernels: boolean;

  constructor(private readonly files: Files, instance: WasmInstance, options: EngineOptions) {
    super(options);
    const { exports } = instance;
    this.instance = instance;
    this.exports = exports;
    this.heap = new Heap(instance.memory, { malloc: exports.malloc, free: exports.free }, (heap) => {
      const first = (heap.scratch + Scratch.ARGUMENTS) >>> 2;
      this.args = heap.u32.subarray(first, first + MAX_TENSORS);
    });
    this.resultsAt = this.heap.scratch >>> 2;
    this.writeOptions(Scratch.PLAIN_OPTIONS, { attrs: 0, chain: 0, request: 0, location: 0 });
    this.opExecute = exports.tandem_op_execute;
    this.tensorRelease = exports.tandem_tensor_release;
    this.check(exports.tandem_js_create(options.workers, options.memoryLimit, options.pendingLimit,
      options.onDiagnostic ? 1 : 0, options.exact ? 1 : 0, options.fuse ? 1 : 0, this.heap.scratch));
    this.js = this.result();
    // A module of one part has them all, and what computes calls as one from the start.
    this.hasAllKernels = exports.tandem_js_postpone_parts === undefined;
    (exports.tandem_js_postpone_parts ?? exports.tandem_js_fuse)?.(this.js);
    this.runtime = exports.tandem_js_runtime(this.js) >>> 0;
  }

  // The module.

  /** The u32 that a C function gave through its last parameter, which pointed to the scratch area. */
  result(index = 0): number {
    if (this.heap.u32.length === 0) this.heap.renew();
    return this.heap.u32[this.resultsAt + index]!;
  }

  /** Runs `fn`, which calls the module; makes a trap an error, after which nothing works any more. */
  guard<T>(fn: (exports: WasmExports, scratch: number) => T): T {
    if (this.closed !== undefined) throw this.whyClosed();
    try {
      this.heap.renew();
      return fn(this.exports, this.heap.scratch);
    } catch (error) {
      throw isTrap(error) ? this.trap(error) : error;
    }
  }

  /** Throws the error that a status is, unless it is 0. */
  check(status: number): void {
    if (status !== 0) throw this.takeStatus(status);
  }

  /** Calls a C function that gives a status. */
  run(fn: (exports: WasmExports, scratch: number) => number): void {
    this.check(this.guard(fn));
  }

  /** The same for one that gives a u32 through its last parameter, the scratch area. */
  ask(fn: (exports: WasmExports, scratch: number) => number): number {
    this.run(fn);
    return this.result();
  }

  /** As `guard`, for what releases something. */
  drop(fn: (exports: WasmExports) => unknown): void {
    if (this.closed !== undefined) return;
    try {
      fn(this.exports);
    } catch (error) {
      this.trap(error);
    }
  }

  /** The error of a tandem_status*, which it releases. */
  takeStatus(status: number): TandemError {
    const { exports, heap } = this;
    const cause = exports.tandem_status_cause(status) >>> 0;
    const op = heap.cString(exports.tandem_status_op(status) >>> 0);
    const location = heap.cString(exports.tandem_status_location(status) >>> 0);
    const way = heap.cString(exports.tandem_status_way(status) >>> 0);
    const error = new TandemError(
      codeOfNumber(exports.tandem_status_code(status)), heap.cString(exports.tandem_status_message(status) >>> 0), {
        ...(op === '' ? {} : { op }),
        ...(location === '' ? {} : { location }),
        ...(way === '' ? {} : { way: way.trimEnd().split('\n') }),
        ...(cause === 0 ? {} : { cause: this.takeStatus(cause) }),
      });
    exports.tandem_status_release(status);
    return error;
  }

  trap(error: unknown): TandemError {
    if (this.closed === undefined) {
      this.close(new TandemError('Internal',
        `the WebAssembly module failed (${textOf(error)}), so that this runtime cannot be used any more; ` +
          'create another',
        { cause: error }));
    }
    return this.whyClosed();
  }

  protected end(): void {
    this.heap.close(() => this.whyClosed());
    this.instance?.terminate();
    this.instance = undefined;
    this.exports = NO_EXPORTS;
    this.opExecute = this.tensorRelease = failClosed;
  }

  /** The version of the library. */
  version(): string {
    return this.heap.cString(this.guard((exports) => exports.tandem_version()) >>> 0);
  }

  // Calls.

  revive(entry: Entry): Uint32Array {
    if (this.closed !== undefined) throw attribute(this.whyClosed(), entry);
    this.heap.renew();
    return this.args;
  }

  call(op: number, count: number, entry: Entry, attrs = 0): number {
    const { heap } = this;
    let options = 0;
    if (attrs !== 0) {
      options = heap.scratch + Scratch.PLAIN_OPTIONS;
      heap.u32[(options + CallOptionsLayout.attrs) >>> 2] = attrs;
    }
    let status: number;
    try {
      status = this.opExecute(op, heap.scratch + Scratch.ARGUMENTS, count, options, heap.scratch, 1);
    } catch (error) {
      throw attribute(this.trap(error), entry);
    }
    if (status !== 0) throw attribute(this.takeStatus(status), entry);
    let { u32 } = heap;
    if (u32.length === 0) {
      this.revive(entry);
      ({ u32 } = heap);
    }
    return u32[this.resultsAt]!;
  }

  callMany(op: number, args: readonly number[], numResults: number, options: CallOptions, entry: Entry): number[] {
    return this.execute(this.opExecute.bind(undefined, op), args, numResults, options, entry);
  }

  /** The same for what is called as ops are. */
  execute(
    call: (...room: number[]) => number, args: readonly number[], numResults: number, options: CallOptions,
    entry: Entry,
  ): number[] {
    if (this.closed !== undefined) throw attribute(this.whyClosed(), entry);
    const { heap } = this;
    const total = args.length + numResults;
    const room = total > MAX_TENSORS ? heap.malloc(4 * total) : heap.scratch + Scratch.ARGUMENTS;
    try {
      heap.renew();
      heap.u32.set(args, room >>> 2);
      this.writeOptions(Scratch.OPTIONS, options);
      const results = room + 4 * args.length;
      const status = this.guard((_, scratch) =>
        call(room, args.length, scratch + Scratch.OPTIONS, results, numResults));
      if (status !== 0) throw attribute(this.takeStatus(status), entry);
      heap.renew();
      return Array.from(heap.u32.subarray(results >>> 2, (results >>> 2) + numResults));
    } finally {
      if (total > MAX_TENSORS) this.free(room);
    }
  }

  private writeOptions(at: number, { attrs, chain, location, request }: CallOptions): void {
    const { scratch, u32 } = this.heap;
    const first = scratch + at;
    u32.fill(0, first >>> 2, (first + CallOptionsLayout.BYTES) >>> 2);
    u32[(first + CallOptionsLayout.structSize) >>> 2] = CallOptionsLayout.BYTES;
    u32[(first + CallOptionsLayout.attrs) >>> 2] = attrs;
    u32[(first + CallOptionsLayout.chain) >>> 2] = chain;
    u32[(first + CallOptionsLayout.request) >>> 2] = request;
    u32[(first + CallOptionsLayout.location) >>> 2] = location;
  }

  /** The name of the device that ops run on. */
  get device(): string {
    return this.gpu ? 'webgpu' : 'cpu';
  }

  protected lookUp(name: string): number {
    const device = this.name(this.handler || this.device);
    return this.withText(name, (text) =>
      this.ask((exports, scratch) => exports.tandem_op_create(this.runtime, text, device, scratch)));
  }

  newAttrs(): AttrWriter {
    return new WasmAttrWriter(this);
  }

  releaseAttrs(attrs: number): void {
    this.drop((exports) => exports.tandem_attrs_release(attrs));
  }

  /** The address of a text that is kept, such as an attribute's name. */
  name(text: string): number {
    let address = this.names.get(text);
    if (address === undefined) {
      address = this.heap.newCString(text);
      this.names.set(text, address);
    }
    return address;
  }

  // Not kept for good, since programs may make places up.
  location(text: string): number {
    let address = this.locations.get(text);
    if (address === undefined) {
      if (this.locations.size >= MAX_LOCATIONS) {
        for (const old of this.locations.values()) this.heap.free(old);
        this.locations = new Map();
      }
      // What it ends with tells most.
      address = this.heap.newCString(text.slice(-MAX_LOCATION_LENGTH));
      this.locations.set(text, address);
    }
    return address;
  }

  registryJson(): string {
    return this.takeText((exports, scratch) => exports.tandem_op_registry_json(this.runtime, scratch, scratch + 4));
  }

  // Programs.

  loadPrograms(): Promise<void> {
    return this.closed === undefined ? this.once('programs', () => this.addPrograms())
      : Promise.reject(this.whyClosed());
  }

  private async addPrograms(): Promise<void> {
    // Which programs call.
    const fusion = this.loadFusion();
    fusion.catch(() => undefined);
    await this.load('programs');
    await fusion;
  }

  loadFusion(): Promise<void> {
    // A module of one part has it with programs, or lacks it.
    if (!this.exports.tandem_js_fuse) return Promise.resolve();
    return this.once('fusion', () => this.addFusion());
  }

  private async addFusion(): Promise<void> {
    await this.load('fusion');
    this.guard((exports) => exports.tandem_js_fuse!(this.js));
    this.renewOps();
  }

  /** What adds a part, or has; after a failure the next call tries again. */
  private once(part: ModulePart, add: () => Promise<void>): Promise<void> {
    return this.parts[part] ??= add().catch((error: unknown) => {
      this.parts[part] = undefined;
      throw error;
    });
  }

  private async load(part: ModulePart): Promise<void> {
    // Compiling does not keep a process running by itself.
    const loading = {};
    platform.stayAlive(loading, true);
    try {
      await this.instance!.load(part);
      if (this.closed !== undefined) throw this.whyClosed();
    } catch (error) {
      throw this.closed === undefined ? error : this.whyClosed();
    } finally {
      platform.stayAlive(loading, false);
    }
  }

  async kernelsLoaded(): Promise<boolean> {
    const loading = this.kernelsLoading;
    await loading?.catch(() => undefined);
    return loading !== undefined && this.closed === undefined;
  }

  loadKernels(): Promise<void> {
    if (this.closed !== undefined) return Promise.reject(this.whyClosed());
    if (this.hasAllKernels) return Promise.resolve();
    return this.kernelsLoading ??= this.addKernels().finally(() => {
      this.kernelsLoading = undefined;
    });
  }

  private async addKernels(): Promise<void> {
    try {
      await this.load('kernels');
      this.guard((exports) => exports.tandem_js_kernels_came!(this.js));
      this.hasAllKernels = true;
      this.renewOps();
    } catch (error) {
      // The error of the calls that wait, too.
      if (this.closed === undefined) {
        const { code = 'Internal' } = error as Partial<TandemError>;
        this.withText(textOf(error), (text) =>
          this.guard((exports) => exports.tandem_js_kernels_failed!(this.js, numberOfCode(code), text)));
      }
      throw error;
    } finally {
      this.events.wake();
    }
  }

  async openPrograms(common: ProgramsPackage): Promise<Programs> {
    // While the script is fetched. Calls wait for it, and tell what is wrong with it.
    this.loadPrograms().catch(() => undefined);
    return (await this.files.importPrograms()).open(this, common);
  }

  // Texts and memory.

  /** Gives `fn` the address of a text that ends in a NUL, for as long as it runs. */
  withText<T>(text: string, fn: (address: number) => T): T {
    const address = this.heap.newCString(text);
    try {
      return fn(address);
    } finally {
      this.free(address);
    }
  }

  /** Frees memory of the heap, unless there is no heap any more. */
  free(address: number): void {
    if (this.closed === undefined) this.heap.free(address);
  }

  /** The text that a C function gives through its last two parameters, address and size, and that is to be freed. */
  takeText(fn: (exports: WasmExports, scratch: number) => number): string {
    return this.guard((exports, scratch) => {
      this.check(fn(exports, scratch));
      const address = this.result(0);
      const text = this.heap.text(address, this.result(1));
      exports.tandem_free(address);
      return text;
    });
  }

  // Tensors.

  allocate(dtype: DType, shape: readonly number[]): NewTensor {
    this.run((exports, scratch) => {
      this.heap.writeInt64s(scratch + Scratch.ARGUMENTS, shape);
      return exports.tandem_js_tensor_new(
        this.js, dtypeCode(dtype), scratch + Scratch.ARGUMENTS, shape.length, scratch, scratch + 4);
    });
    return { place: this.result(0), pointer: this.result(1) };
  }

  elements(dtype: DType, place: number, count: number): TypedArray {
    this.heap.renew();
    return new (arrayType(dtype))(this.heap.u8.buffer, place, count * partsOf(dtype));
  }

  createStrings(strings: readonly (string | Uint8Array)[], shape: readonly number[]): number {
    const { heap } = this;
    const room = heap.newStrings(strings);
    try {
      return this.ask((exports, scratch) => {
        heap.writeInt64s(scratch + Scratch.ARGUMENTS, shape);
        return exports.tandem_tensor_create_strings(this.runtime, scratch + Scratch.ARGUMENTS, shape.length, room,
          room + 4 * strings.length, strings.length, scratch);
      });
    } finally {
      this.free(room);
    }
  }

  createScalar(dtype: DType, value: number): number {
    return this.guard((exports) => exports.tandem_js_scalar(this.js, dtypeCode(dtype), value)) >>> 0;
  }

  castLike(values: number, like: number, op: number, input: number, request: number, location: number): number {
    return this.guard((exports) =>
      exports.tandem_js_cast_like(this.js, values, like, op, input, request, location)) >>> 0;
  }

  state(tensor: number): TensorState {
    return STATES[this.guard((exports) => exports.tandem_js_tensor_state(tensor))]!;
  }

  dtypeOf(tensor: number): DType | undefined {
    return this.guard((exports, scratch) => {
      exports.tandem_js_describe(tensor, scratch + Scratch.STRUCT);
      return this.dtypeAt(scratch + Scratch.STRUCT);
    });
  }

  private dtypeAt(description: number): DType | undefined {
    const code = this.heap.u32[(description + DescriptionLayout.dtype) >>> 2]!;
    return code === 0 ? undefined : dtypeOfCode(code);
  }

  describe(tensor: number): Description {
    return this.guard((exports, scratch) => {
      const at = scratch + Scratch.STRUCT;
      exports.tandem_js_describe(tensor, at);
      const { f64, u32 } = this.heap;
      const rank = u32[(at + DescriptionLayout.rank) >>> 2]!;
      const first = (at + DescriptionLayout.dims) >>> 3;
      return {
        state: STATES[u32[(at + DescriptionLayout.state) >>> 2]!]!,
        dtype: this.dtypeAt(at),
        // -1, which is not known, is larger, too.
        shape: rank > MAX_RANK ? undefined : integersAt(f64, first, rank),
        place: u32[(at + DescriptionLayout.data) >>> 2]!,
      };
    });
  }

  errorOf(tensor: number): TandemError {
    const status = this.guard((exports) => exports.tandem_js_tensor_error(tensor));
    return status === 0 ? new TandemError('Unknown', 'the tensor is an error') : this.takeStatus(status);
  }

  share(tensor: number): number {
    return this.ask((exports, scratch) => exports.tandem_tensor_copy(tensor, scratch));
  }

  placeOf(tensor: number): number {
    return this.ask((exports, scratch) => exports.tandem_tensor_data(tensor, scratch, 0));
  }

  strings(tensor: number, count: number): string[] {
    return this.stringBytes(tensor, count).map(decodeText);
  }

  stringBytes(tensor: number, count: number): Uint8Array[] {
    const { heap } = this;
    const room = heap.malloc(StringLayout.BYTES * count);
    try {
      const given = this.guard((exports) => exports.tandem_js_strings(tensor, 0, count, room));
      heap.renew();
      return Array.from({ length: given }, (_, i) => {
        const at = room + StringLayout.BYTES * i;
        return heap.bytes(heap.u32[(at + StringLayout.data) >>> 2]!, heap.u32[(at + StringLayout.size) >>> 2]!);
      });
    } finally {
      this.free(room);
    }
  }

  text(tensor: number, maxElements: number): string {
    return this.guard((exports, scratch) => {
      this.check(exports.tandem_tensor_text(tensor, maxElements, scratch));
      const address = this.result();
      const text = this.heap.cString(address);
      exports.tandem_free(address);
      return text;
    });
  }

  releaseTensor(tensor: number): void {
    if (this.closed !== undefined) return;
    try {
      this.tensorRelease(tensor);
    } catch (error) {
      this.trap(error);
    }
  }

  // Requests, chains, events.

  createRequest(timeout: number): number {
    return this.ask((exports, scratch) => exports.tandem_js_request_create(this.js, timeout, scratch));
  }

  cancelRequest(request: number, reason: string): void {
    this.withText(reason, (text) => this.run((exports) => exports.tandem_request_cancel(request, text)));
  }

  releaseRequest(request: number): void {
    this.drop((exports) => exports.tandem_request_release(request));
  }

  createChain(): number {
    return this.ask((exports, scratch) => exports.tandem_chain_create(this.runtime, scratch));
  }

  releaseChain(chain: number): void {
    this.drop((exports) => exports.tandem_chain_release(chain));
  }

  askReady(tensor: number, id: number): void {
    this.run((exports) => exports.tandem_js_on_ready(this.js, tensor, id));
  }

  askChainReady(chain: number, id: number): void {
    this.run((exports) => exports.tandem_js_chain_on_ready(this.js, chain, id));
  }

  askSettled(id: number): void {
    this.run((exports) => exports.tandem_js_on_settled(this.js, id));
  }

  runTasks(milliseconds: number): boolean {
    return this.guard((exports) => exports.tandem_js_run_tasks(this.js, milliseconds)) !== 0;
  }

  help(tensor: number, milliseconds: number): void {
    this.guard((exports) => exports.tandem_js_help_with(this.js, tensor, milliseconds));
  }

  takeEvents(sink: EventSink): void {
    const { heap } = this;
    let count: number;
    do {
      const at = heap.scratch + Scratch.EVENTS;
      count = this.guard((exports) => exports.tandem_js_take_events(this.js, at, MAX_EVENTS));
      heap.renew();
      // A copy, since whoever is told may call the module.
      const events = heap.u32.slice(at >>> 2, (at + EventLayout.BYTES * count) >>> 2);
      for (let i = 0; i < count; ++i) this.tell(sink, events.subarray((EventLayout.BYTES * i) >>> 2));
    } while (count === MAX_EVENTS && this.closed === undefined);
    this.kernels?.poll();
  }

  private tell(sink: EventSink, event: Uint32Array): void {
    const data = event[EventLayout.data >>> 2]!;
    switch (event[EventLayout.kind >>> 2]) {
      case EventKind.READY:
        sink.onReady(event[EventLayout.id >>> 2]!, data === 0 ? undefined : this.takeStatus(data));
        break;
      case EventKind.DIAGNOSTIC:
        sink.onDiagnostic(this.takeStatus(data));
        break;
      case EventKind.PRINT: {
        const text = this.heap.text(data, event[EventLayout.size >>> 2]!);
        this.exports.tandem_free(data);
        sink.onPrint(text);
        break;
      }
      case EventKind.SHORTAGE:
        sink.onShortage();
        break;
      case EventKind.KERNELS:
        this.loadKernels().catch(() => undefined);
        break;
      case EventKind.FUSION:
        // Without it results are the same.
        this.loadFusion().catch(() => undefined);
        break;
      case EventKind.CALL:
        this.kernels?.start(event[EventLayout.id >>> 2]!, data);
        break;
    }
  }

  // State.

  memory(): HostMemoryInfo {
    return this.guard((exports, scratch) => {
      const info = scratch + Scratch.STRUCT;
      exports.tandem_js_memory(this.js, info);
      this.heap.renew();
      const { f64, u8 } = this.heap;
      const limit = f64[(info + MemoryInfoLayout.limit) >>> 3]!;
      return {
        bytesInUse: f64[(info + MemoryInfoLayout.bytesInUse) >>> 3]!,
        peakBytesInUse: f64[(info + MemoryInfoLayout.peakBytesInUse) >>> 3]!,
        bytesCached: f64[(info + MemoryInfoLayout.bytesCached) >>> 3]!,
        numAllocations: f64[(info + MemoryInfoLayout.numAllocations) >>> 3]!,
        numCacheHits: f64[(info + MemoryInfoLayout.numCacheHits) >>> 3]!,
        limit: limit === 0 ? Infinity : limit,
        threshold: f64[(info + MemoryInfoLayout.threshold) >>> 3]!,
        pendingOps: f64[(info + MemoryInfoLayout.pendingOps) >>> 3]!,
        wasmBytes: u8.length,
      };
    });
  }

  collected(threshold: number): void {
    this.guard((exports) => exports.tandem_js_collected(this.js, threshold));
  }

  cancel(reason: string | undefined): void {
    const cancel = (text: number): void => this.run((exports) => exports.tandem_js_cancel(this.js, text));
    if (reason === undefined) cancel(0);
    else this.withText(reason, cancel);
  }

  restart(): void {
    this.run((exports) => exports.tandem_runtime_restart(this.runtime));
  }

  startTrace(): void {
    this.run((exports) => exports.tandem_trace_start(this.runtime));
  }

  stopTrace(): void {
    this.run((exports) => exports.tandem_trace_stop(this.runtime));
  }

  clearTrace(): void {
    this.run((exports) => exports.tandem_trace_clear(this.runtime));
  }

  traceJson(): string {
    return this.takeText((exports, scratch) => exports.tandem_trace_json(this.runtime, scratch, scratch + 4));
  }
}

// Whether what was thrown left the module in the middle of something: a trap, or no room left on the stack, of which
// Firefox has an error of its own.
function isTrap(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError ||
    (error instanceof Error && !(error instanceof TandemError) && /call stack|recursion/.test(error.message));
}
