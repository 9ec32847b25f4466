// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in the browser.

'use client';

import { useEffect, useState } from 'react';
import { compute } from './compute.js';

export default function Client() {
  const [text, setText] = useState('');
  useEffect(() => {
    compute().catch((error) => String(error.stack ?? error)).then((result) => setText(JSON.stringify(result)));
  }, []);
  return <p id="result">{text}</p>;
}
