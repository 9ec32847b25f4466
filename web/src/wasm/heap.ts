// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The module's memory as JavaScript sees it: views that survive its growth, a fixed scratch area, texts in UTF-8.

import { TandemError } from '../errors.js';
import { Scratch } from './scratch.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a heap needs of the module. */
export interface Allocator {
  malloc(size: number): number;
  free(address: number): void;
}

const NO_ALLOCATOR: Allocator = { malloc: () => 0, free: () => undefined };

/**
 * Views of a module's memory. When the memory grows, an unshared view loses its buffer (its length is 0), and a shared
 * one misses the end: `renew` makes them anew. The scratch area, which never moves, begins at byte `scratch`.
 */
export class Heap {
  u8: Uint8Array;
  u32: Uint32Array;
  f64: Float64Array;
  /** Byte address of the scratch area, a multiple of 8. */
  readonly scratch: number;

  private whyClosed: (() => TandemError) | undefined;

  /** `onRenew` is called whenever the views are new. */
  constructor(
    private memory: WebAssembly.Memory | undefined, private allocator: Allocator,
    private readonly onRenew: (heap: Heap) => void,
  ) {
    this.scratch = allocator.malloc(Scratch.BYTES) >>> 0;
    if (this.scratch === 0) throw new TandemError('ResourceExhausted', 'expected memory for a runtime, got none');
    this.u8 = new Uint8Array(0);
    this.u32 = new Uint32Array(0);
    this.f64 = new Float64Array(0);
    this.renew();
  }

  /** Makes the views show all of the memory. */
  renew(): void {
    if (this.memory === undefined) return;
    const { buffer } = this.memory;
    if (this.u8.buffer === buffer && this.u8.length === buffer.byteLength) return;
    this.u8 = new Uint8Array(buffer);
    this.u32 = new Uint32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.onRenew(this);
  }

  /** Makes the views have nothing, once the module must not be used any more; `why` is the error of `malloc` then. */
  close(why: () => TandemError): void {
    this.whyClosed = why;
    this.memory = undefined;
    this.allocator = NO_ALLOCATOR;
    this.u8 = new Uint8Array(0);
    this.u32 = new Uint32Array(0);
    this.f64 = new Float64Array(0);
    this.onRenew(this);
  }

  /** Memory that the caller gives to `free`. ResourceExhausted if there is none. */
  malloc(size: number): number {
    if (this.whyClosed !== undefined) throw this.whyClosed();
    const address = this.allocator.malloc(Math.max(size, 1)) >>> 0;
    if (address === 0) throw new TandemError('ResourceExhausted', `expected ${size} bytes of memory, got none`);
    this.renew();
    return address;
  }

  free(address: number): void {
    this.allocator.free(address);
  }

  /** A copy of the bytes. */
  bytes(address: number, size: number): Uint8Array<ArrayBuffer> {
    this.renew();
    const copy = new Uint8Array(size);
    copy.set(this.u8.subarray(address, address + size));
    return copy;
  }

  /** The text of so many bytes. */
  text(address: number, size: number): string {
    // A copy, since decoders do not take shared memory.
    return decodeText(this.bytes(address, size));
  }

  /** The text that ends in a NUL; empty at address 0. */
  cString(address: number): string {
    if (address === 0) return '';
    this.renew();
    return this.text(address, this.u8.indexOf(0, address) - address);
  }

  /** A text that ends in a NUL, for the caller to free. NULs within it are left out. */
  newCString(text: string): number {
    const bytes = encoder.encode(text.replaceAll('\0', ''));
    const address = this.malloc(bytes.length + 1);
    this.u8.set(bytes, address);
    this.u8[address + bytes.length] = 0;
    return address;
  }

  /**
   * So many addresses, then as many sizes in bytes, of texts in UTF-8 or of bytes, which lie behind them; for the caller
   * to free all at once.
   */
  newStrings(strings: readonly (string | Uint8Array)[]): number {
    const texts = strings.map((text) => (typeof text === 'string' ? encodeText(text) : text));
    const count = texts.length;
    const room = this.malloc(texts.reduce((sum, text) => sum + text.length, 8 * count));
    let at = room + 8 * count;
    texts.forEach((text, i) => {
      this.u32[(room >>> 2) + i] = at;
      this.u32[(room >>> 2) + count + i] = text.length;
      this.u8.set(text, at);
      at += text.length;
    });
    return room;
  }

  /** So many int64 of integers; numbers are at most 2^53 in size. */
  writeInt64s(address: number, values: readonly (number | bigint)[]): void {
    let at = address >>> 2;
    for (const value of values) {
      if (typeof value === 'bigint') {
        this.u32[at++] = Number(BigInt.asUintN(32, value));
        this.u32[at++] = Number(BigInt.asUintN(32, value >> 32n));
        continue;
      }
      this.u32[at++] = value >>> 0;
      this.u32[at++] = Math.floor(value / 4294967296) >>> 0;
    }
  }
}

/** The text of bytes in UTF-8; what is none becomes U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  return bytes.length === 0 ? '' : decoder.decode(bytes);
}

/** The bytes of a text in UTF-8. */
export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}
