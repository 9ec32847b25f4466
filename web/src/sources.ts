// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What programs give as the content of files: bytes and responses, which are known by their tags, not by their classes,
// since objects of other realms have classes of their own.

import type { ErrorCode } from './errors.js';

/** 'Blob', 'Response' and so on. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The bytes of a buffer or a view; undefined for other values. Throws for a buffer that has been given away. */
export function bytesOf(source: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  const tag = tagOf(source);
  return tag === 'ArrayBuffer' || tag === 'SharedArrayBuffer' ? new Uint8Array(source as ArrayBuffer) : undefined;
}

/** Why a response is no file that can be read; undefined if it is one. */
export function problemOf(response: Response): readonly [ErrorCode, string] | undefined {
  if (!response.ok) {
    const text = response.statusText === '' ? '' : ` ${response.statusText}`;
    const code = response.status === 404 || response.status === 410 ? 'NotFound' : 'Unavailable';
    return [code, `expected a file, got status ${response.status}${text}`];
  }
  if (response.bodyUsed || response.body?.locked) {
    return ['FailedPrecondition', 'expected a response that has not been read, got one that has'];
  }
  return undefined;
}
