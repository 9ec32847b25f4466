// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The content of a program, wherever it comes from.

import { bytesOf, problemOf, tagOf } from '../../sources.js';
import { describe } from '../../values.js';
import { encodeText } from '../heap.js';
import type { Task } from './task.js';

/** All of a file, and what errors call it. */
export interface Content {
  readonly name: string;
  readonly bytes: Uint8Array;
}

function reasonText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function contentOfResponse(response: Response, name: string, task: Task): Promise<Content> {
  const problem = problemOf(response);
  if (problem !== undefined) throw task.error(problem[0], `${name}: ${problem[1]}`);
  return { name, bytes: new Uint8Array(await response.arrayBuffer()) };
}

// A file of the system; undefined for other places.
async function contentOfFile(place: string | URL, task: Task): Promise<Content | undefined> {
  const file = await task.common.openFile(place, (code, text, cause) => task.error(code, text, cause));
  if (file === undefined) return undefined;
  const bytes = new Uint8Array(file.size);
  let size = 0;
  for await (const chunk of file.chunks) {
    if (size + chunk.length > bytes.length) {
      throw task.error('DataLoss', `${file.name}: expected ${bytes.length} bytes, got more`);
    }
    bytes.set(chunk, size);
    size += chunk.length;
  }
  return { name: file.name, bytes: bytes.subarray(0, size) };
}

async function contentOfUrl(source: string | URL, task: Task, signal: AbortSignal | undefined): Promise<Content> {
  const wrong = (cause?: unknown): Error => task.error('InvalidArgument',
    `expected a URL, or a program's text, which has a '{', got '${String(source).slice(0, 80)}'`, cause);
  // As a URL it would be that of the page.
  if (typeof source === 'string' && source.trim() === '') throw wrong();
  let url: URL;
  try {
    url = new URL(source, task.common.platform.baseUrl());
  } catch (error) {
    throw wrong(error);
  }
  const file = await contentOfFile(source, task);
  if (file !== undefined) return file;
  const name = url.protocol === 'data:' ? 'data:' : url.href;
  try {
    return await contentOfResponse(await fetch(url, { signal: signal ?? null }), name, task);
  } catch (error) {
    if (error instanceof task.common.TandemError || signal?.aborted) throw error;
    throw task.error('Unavailable', `${name}: expected a file, got: ${reasonText(error)}`, error);
  }
}

/** The content of a program's source. Rejects with an error of the package, or what a signal aborts `fetch` with. */
export async function contentOf(source: unknown, task: Task, signal: AbortSignal | undefined): Promise<Content> {
  const isText = typeof source === 'string' && source.includes('{');
  if (isText) return { name: 'program', bytes: encodeText(source) };
  const tag = tagOf(source);
  if (typeof source === 'string') return contentOfUrl(source, task, signal);
  if (tag === 'URL') return contentOfUrl(new URL((source as URL).href), task, signal);
  if (tag === 'Response') return contentOfResponse(source as Response, (source as Response).url || 'response', task);
  if (tag === 'Blob' || tag === 'File') {
    const { name = 'blob' } = source as Partial<File>;
    try {
      return { name, bytes: new Uint8Array(await (source as Blob).arrayBuffer()) };
    } catch (error) {
      throw task.error('Unavailable', `${name}: expected to read it, got: ${reasonText(error)}`, error);
    }
  }
  let bytes: Uint8Array | undefined;
  try {
    bytes = bytesOf(source);
  } catch {
    // A buffer that has been given away.
  }
  if (bytes !== undefined) return { name: 'program', bytes };
  throw task.error('InvalidArgument', 'expected the text of a program, a URL, a response, a blob, or bytes that are ' +
    `still there, got ${describe(source)}`);
}
