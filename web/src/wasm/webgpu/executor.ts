// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Carries out the module's batches of records on a GPUDevice, and says what becomes of them.

import { ARENA_BYTES, BUFFER_WORDS, Code, Command, RECORD_WORDS, SLOT_BYTES } from '../layout.js';
import { COPY_DST, COPY_SRC, MAP_READ, popScope, STORAGE, textOf, UNIFORM } from './device.js';
import { findFailure } from './find_failure.js';
import { Layouts } from './layouts.js';
import { ReadBacks } from './read_backs.js';
import { recordsOf } from './records.js';
import { TIME_BYTES, Times } from './times.js';

/** The module's memory. Its views are made anew by `renew` when it has grown. */
export interface Memory {
  readonly u8: Uint8Array;
  readonly u32: Uint32Array;
  renew(): void;
  text(address: number, size: number): string;
}

/** Who is told what has become of records; see tandem_webgpu.h. */
export interface Listener {
  onBatchDone(batch: number): void;
  onBatchFailed(batch: number, word: number, code: number, text: string): void;
  onBufferFailed(buffer: number, text: string): void;
  onPipelineDone(pipeline: number, code: number, text: string): void;
  /** Of a read, or of an END. */
  onEnd(end: number, code: number, text: string): void;
  /** The device is lost, which may be told again. The executor is to be closed. */
  onDeviceLost(text: string): void;
}

/** Where a batch's record could not be found. */
export const NO_WORD = 0xffffffff;

// Whose last word is the number of an end.
const ENDING: ReadonlySet<number> = new Set([Command.DOWNLOAD, Command.END, Command.READ_TIMES]);

/** A group's buffers, and what WebGPU has of it. */
export interface Group {
  readonly group: GPUBindGroup;
  readonly buffers: readonly number[];
}

/** What was found out about a batch. */
interface Failure {
  readonly code: number;
  readonly text: string;
}

/** Carries out batches of records. One for each device. */
export class Executor {
  /** By number. */
  readonly buffers: (GPUBuffer | undefined)[] = [];
  readonly pipelines: (GPUComputePipeline | undefined)[] = [];
  readonly groups: (Group | undefined)[] = [];
  readonly arena: GPUBuffer;
  closed = false;
  private readonly layouts: Layouts;
  private readonly readBacks: ReadBacks;
  private readonly times: Times;
  private readonly offsets = new Uint32Array(1);
  private readonly external = new Set<number>();
  private takesShared = true;
  private probing: Promise<void> | undefined;
  // Resolves when the batches so far have been told of.
  private told: Promise<void> = Promise.resolve();
  // Resolves when the times of the batches so far have been read.
  private timed: Promise<void> | undefined;

  // Of the batch that is being carried out.
  private encoder: GPUCommandEncoder | undefined;
  private pass: GPUComputePassEncoder | undefined;
  private toDestroy: GPUBuffer[] = [];
  private dropped: (() => void)[] = [];
  private bufferScopes: Promise<void>[] = [];
  private reads: (() => Promise<unknown>)[] = [];

  // What is read or compiled, until the module has been told of it.
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(readonly device: GPUDevice, private readonly memory: Memory, private readonly listener: Listener) {
    this.arena = device.createBuffer({
      label: 'tandem parameters', size: ARENA_BYTES, usage: UNIFORM | COPY_DST | COPY_SRC,
    });
    this.layouts = new Layouts(device);
    this.readBacks = new ReadBacks(device);
    this.times = new Times(device);
  }

  /** Puts a buffer of the user's into the list. */
  adopt(number: number, buffer: GPUBuffer): void {
    this.buffers[number] = buffer;
    this.external.add(number);
  }

  /** Resolves when what was handed over so far has been computed, and its failures and times told. */
  async finished(): Promise<void> {
    const { timed, told } = this;
    await this.device.queue.onSubmittedWorkDone().catch(() => undefined);
    await told;
    await timed;
  }

  /**
   * As `finished`, and when the module has been told of all that was to be read or compiled; true if there was any, since
   * something may now be computed from it.
   */
  async settled(): Promise<boolean> {
    const underWay = [...this.underWay];
    await this.finished();
    await Promise.all(underWay);
    return underWay.length > 0;
  }

  private begin(telling: Promise<unknown>): void {
    const told = telling.finally(() => this.underWay.delete(told));
    this.underWay.add(told);
  }

  /**
   * Whether a failure is to be told: not if the device is lost, which then is told instead. Of a device that is lost
   * errors of all kinds may come before it says so, but it certainly maps no buffer, as every other device does.
   */
  private async isFailure(): Promise<boolean> {
    if (!this.closed) {
      await (this.probing ??= this.probe().finally(() => {
        this.probing = undefined;
      }));
    }
    return !this.closed;
  }

  private async probe(): Promise<void> {
    const { device } = this;
    device.pushErrorScope('out-of-memory');
    device.pushErrorScope('validation');
    let buffer: GPUBuffer | undefined;
    const mapping = (async () => {
      buffer = device.createBuffer({ size: 4, usage: MAP_READ | COPY_DST });
      await buffer.mapAsync(MAP_READ);
    })().then(() => undefined, (error: unknown) => error ?? 'no reason');
    const [error, ...errors] = await Promise.all([mapping, popScope(device), popScope(device)]);
    // A buffer that could not be made proves nothing; but mapping that is aborted does, whatever the scopes say.
    const isAborted = (error as { name?: unknown } | undefined)?.name === 'AbortError';
    const isMade = buffer !== undefined && errors.every((each) => each === null);
    buffer?.destroy();
    if (error === undefined || !(isAborted || isMade)) return;
    this.listener.onDeviceLost(textOf(error) || 'its memory cannot be read');
  }

  /** What the module imports as `webgpu_execute`. Throws nothing. */
  execute(batch: number, at: number, count: number, arena: number, arenaBytes: number): void {
    if (this.closed) return;
    const { device } = this;
    let failure: Failure | undefined;
    device.pushErrorScope('internal');
    device.pushErrorScope('out-of-memory');
    device.pushErrorScope('validation');
    try {
      this.memory.renew();
      this.times.restart();
      if (arenaBytes !== 0) this.write(this.arena, arena, arenaBytes);
      this.encode(at >>> 2, (at >>> 2) + count);
      this.submit();
    } catch (error) {
      failure = { code: Code.INTERNAL, text: textOf(error) };
      this.encoder = this.pass = undefined;
      this.reads = this.failedReads(at >>> 2, count, failure.text);
    }
    const scopes = Promise.all([popScope(device), popScope(device), popScope(device)]);
    this.tell(batch, at >>> 2, count, scopes, failure);
    for (const read of this.reads) this.begin(read());
    this.reads = [];
  }

  private encode(first: number, end: number): void {
    const { u32 } = this.memory;
    const { buffers, offsets, pipelines } = this;
    let pass: GPUComputePassEncoder | undefined;
    let pipeline = 0;
    let i = first;
    while (i < end) {
      const command = u32[i]!;
      if (command === Command.DISPATCH) {
        if (pass === undefined) {
          pass = this.pass = this.ensureEncoder().beginComputePass();
          pipeline = 0;
        }
        if (u32[i + 1] !== pipeline) {
          pipeline = u32[i + 1]!;
          pass.setPipeline(pipelines[pipeline]!);
        }
        offsets[0] = u32[i + 3]!;
        pass.setBindGroup(0, this.groups[u32[i + 2]!]!.group, offsets, 0, 1);
        pass.dispatchWorkgroups(u32[i + 4]!, u32[i + 5], u32[i + 6]);
        i += 7;
        continue;
      }
      switch (command) {
        case Command.CREATE_BUFFER:
          this.createBuffer(u32[i + 1]!, u32[i + 2]!);
          break;
        case Command.DROP_BUFFER:
          this.dropBuffer(u32[i + 1]!, u32[i + 2] !== 0);
          break;
        case Command.CREATE_LAYOUT:
          this.layouts.create(u32[i + 1]!, u32[i + 2]!, u32[i + 3]!);
          break;
        case Command.CREATE_PIPELINE:
          this.createPipeline(u32[i + 1]!, u32[i + 2]!, u32.subarray(i + 3, i + 7));
          break;
        case Command.DROP_PIPELINE:
          this.drop(pipelines, u32[i + 1]!);
          break;
        case Command.CREATE_GROUP: {
          const parts = u32.subarray(i + 4, i + 4 + BUFFER_WORDS * u32[i + 3]!);
          this.createGroup(u32[i + 1]!, u32[i + 2]!, parts);
          i += parts.length;
          break;
        }
        case Command.DROP_GROUP:
          this.drop(this.groups, u32[i + 1]!);
          break;
        case Command.END:
          this.end(u32[i + 1]!);
          break;
        case Command.WRITE:
          this.write(buffers[u32[i + 1]!]!, u32[i + 2]!, padded(u32[i + 3]!));
          break;
        default:
          this.endPass();
          pass = undefined;
          if (command === Command.TIMED_DISPATCH) this.dispatchTimed(u32.subarray(i, i + RECORD_WORDS[command]!));
          else this.encodeCopy(this.ensureEncoder(), u32.subarray(i, i + RECORD_WORDS[command]!), false);
      }
      i += RECORD_WORDS[command]!;
    }
  }

  private dispatchTimed([, pipeline, group, offset, x, y, z]: Uint32Array): void {
    const pass = this.pass = this.times.beginPass(this.ensureEncoder());
    pass.setPipeline(this.pipelines[pipeline!]!);
    pass.setBindGroup(0, this.groups[group!]!.group, [offset!]);
    pass.dispatchWorkgroups(x!, y, z);
    this.endPass();
  }

  /** A record that copies, other than WRITE. For a trial nothing is moved but within the device. */
  encodeCopy(encoder: GPUCommandEncoder, record: Uint32Array, isTrial: boolean): void {
    const [command, a, b, c, d, e] = record as unknown as [number, number, number, number, number, number];
    const { buffers } = this;
    if (command === Command.COPY) encoder.copyBufferToBuffer(buffers[a]!, b, buffers[c]!, d, e);
    else if (command === Command.COPY_FROM_ARENA) encoder.copyBufferToBuffer(this.arena, a, buffers[b]!, 0, padded(c));
    else if (command === Command.STAGE) this.stage(encoder, buffers[a]!, b, c, isTrial);
    else if (isTrial) return;
    else if (command === Command.DOWNLOAD) this.reads.push(this.download(encoder, buffers[a]!, b, c, d, e));
    else if (command === Command.READ_TIMES) this.readTimes(encoder, a, b, c);
  }

  private ensureEncoder(): GPUCommandEncoder {
    this.encoder ??= this.device.createCommandEncoder();
    return this.encoder;
  }

  private endPass(): void {
    this.pass?.end();
    this.pass = undefined;
  }

  private submit(): void {
    this.endPass();
    const { encoder } = this;
    this.encoder = undefined;
    if (encoder !== undefined) this.device.queue.submit([encoder.finish()]);
    for (const buffer of this.toDestroy) buffer.destroy();
    this.toDestroy = [];
  }

  // Objects.

  private createBuffer(number: number, size: number): void {
    const { device } = this;
    device.pushErrorScope('out-of-memory');
    this.buffers[number] = device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST });
    this.bufferScopes.push(popScope(device).then(async (error) => {
      if (error !== null && await this.isFailure()) this.listener.onBufferFailed(number, error.message);
    }));
  }

  private dropBuffer(number: number, isOurs: boolean): void {
    if (isOurs) this.toDestroy.push(this.buffers[number]!);
    else this.external.delete(number);
    this.drop(this.buffers, number);
  }

  // What a record names stays until its batch has been told of, which may need it.
  private drop<T>(list: (T | undefined)[], number: number): void {
    this.dropped.push(() => {
      list[number] = undefined;
    });
  }

  private createGroup(number: number, layout: number, parts: Uint32Array): void {
    const entries: GPUBindGroupEntry[] = [];
    const numbers: number[] = [];
    for (let i = 0; i < parts.length; i += BUFFER_WORDS) {
      const buffer = this.buffers[parts[i]!]!;
      const size = parts[i + 2]!;
      const resource = size === 0 ? { buffer } : { buffer, offset: parts[i + 1]!, size };
      entries.push({ binding: numbers.length, resource });
      numbers.push(parts[i]!);
    }
    entries.push({ binding: numbers.length, resource: { buffer: this.arena, size: SLOT_BYTES } });
    const group = this.device.createBindGroup({ layout: this.layouts.group(layout), entries });
    this.groups[number] = { group, buffers: numbers };
  }

  private createPipeline(number: number, layout: number, [code, codeBytes, name, nameBytes]: Uint32Array): void {
    const { device, listener, memory } = this;
    const label = memory.text(name!, nameBytes!);
    // The pipeline's error says it, too.
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ label, code: memory.text(code!, codeBytes!) });
    void popScope(device);
    const compiling = device.createComputePipelineAsync({
      label, layout: this.layouts.pipeline(layout), compute: { module, entryPoint: 'main' },
    });
    this.begin(compiling.then((pipeline) => {
      if (this.closed) return;
      this.pipelines[number] = pipeline;
      listener.onPipelineDone(number, Code.OK, '');
    }, async (error: unknown) => {
      const isInvalid = (error as { reason?: unknown } | null)?.reason === 'validation';
      const text = await compilerText(module);
      if (!await this.isFailure()) return;
      listener.onPipelineDone(number, isInvalid ? Code.INVALID_ARGUMENT : Code.INTERNAL, text || textOf(error));
    }).catch(() => undefined));
  }

  // Data.

  private write(buffer: GPUBuffer, address: number, size: number): void {
    const { device: { queue }, memory: { u8 } } = this;
    if (this.takesShared) {
      try {
        queue.writeBuffer(buffer, 0, u8.buffer, address, size);
        return;
      } catch (error) {
        // The package `webgpu` does not take memory that is shared between threads.
        if (u8.buffer instanceof ArrayBuffer) throw error;
        this.takesShared = false;
      }
    }
    queue.writeBuffer(buffer, 0, u8.slice(address, address + size));
  }

  private stage(encoder: GPUCommandEncoder, to: GPUBuffer, address: number, bytes: number, isTrial: boolean): void {
    const size = padded(bytes);
    const staging = this.device.createBuffer({ size, usage: COPY_SRC, mappedAtCreation: true });
    if (!isTrial) new Uint8Array(staging.getMappedRange()).set(this.memory.u8.subarray(address, address + bytes));
    staging.unmap();
    encoder.copyBufferToBuffer(staging, 0, to, 0, size);
    if (isTrial) staging.destroy();
    else this.toDestroy.push(staging);
  }

  // Gives what is to be called once it is submitted.
  private download(
    encoder: GPUCommandEncoder, from: GPUBuffer, offset: number, address: number, bytes: number, number: number,
  ): () => Promise<void> {
    const { listener, memory, readBacks } = this;
    const size = padded(Math.max(bytes, 1));
    const buffer = readBacks.take(size);
    encoder.copyBufferToBuffer(from, offset, buffer, 0, size);
    return () => {
      const { told } = this;
      return buffer.mapAsync(MAP_READ, 0, size).then(async () => {
        await told;
        if (this.closed) return;
        memory.renew();
        memory.u8.set(new Uint8Array(buffer.getMappedRange(0, size), 0, bytes), address);
        buffer.unmap();
        readBacks.give(buffer);
        listener.onEnd(number, Code.OK, '');
      }, async (error: unknown) => {
        await told;
        buffer.destroy();
        if (await this.isFailure()) listener.onEnd(number, Code.INTERNAL, textOf(error));
      }).catch(() => undefined);
    };
  }

  // Before the batch's other reads, so that who reads a result finds the times of what gave it in a trace.
  private readTimes(encoder: GPUCommandEncoder, address: number, count: number, number: number): void {
    const read = this.download(encoder, this.times.resolve(encoder), 0, address, TIME_BYTES * count, number);
    this.reads.unshift(() => {
      this.timed = read();
      return this.timed;
    });
  }

  private end(number: number): void {
    this.reads.push(() => this.finished().then(async () => {
      if (!this.closed) this.listener.onEnd(number, Code.OK, '');
    }));
  }

  // Of a batch that was not carried out.
  private failedReads(first: number, count: number, text: string): (() => Promise<unknown>)[] {
    const reads: (() => Promise<unknown>)[] = [];
    for (const { record } of recordsOf(this.memory.u32.subarray(first, first + count))) {
      if (!ENDING.has(record[0]!)) continue;
      const number = record[record.length - 1]!;
      reads.push(() => this.told.then(async () => {
        if (await this.isFailure()) this.listener.onEnd(number, Code.INTERNAL, text);
      }));
    }
    return reads;
  }

  // Being done.

  private tell(
    batch: number, first: number, count: number, scopes: Promise<(GPUError | null)[]>, failure: Failure | undefined,
  ): void {
    const { bufferScopes, dropped, listener, told } = this;
    this.bufferScopes = [];
    this.dropped = [];
    this.told = (async () => {
      const [[validation, memory, internal]] = await Promise.all([scopes, told, ...bufferScopes]);
      if (this.closed) return;
      const error = validation ?? memory ?? internal;
      let text = failure?.text ?? error?.message;
      if (text !== undefined) {
        if (!await this.isFailure()) return;
        let word = NO_WORD;
        if (failure === undefined && validation) {
          const found = await findFailure(this, this.memory, first, count);
          if (this.closed) return;
          if (found !== undefined) ({ text, word } = found);
        }
        const code = failure?.code ?? (validation || !memory ? Code.INTERNAL : Code.RESOURCE_EXHAUSTED);
        listener.onBatchFailed(batch, word, code, text);
      }
      listener.onBatchDone(batch);
      for (const drop of dropped) drop();
    })();
  }

  /** Gives up what it has on the device. Nobody is told anything any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.buffers.forEach((buffer, number) => {
      if (!this.external.has(number)) buffer?.destroy();
    });
    this.arena.destroy();
    this.times.close();
    this.readBacks.close();
    this.buffers.length = this.groups.length = this.pipelines.length = 0;
  }
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

async function compilerText(module: GPUShaderModule): Promise<string> {
  try {
    const { messages } = await module.getCompilationInfo();
    return messages.filter(({ type }) => type === 'error')
      .map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`).join('; ');
  } catch {
    return '';
  }
}
