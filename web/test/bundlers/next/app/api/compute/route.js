// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A route that computes.

import { compute } from '../../compute.js';

export const dynamic = 'force-dynamic';

export async function GET() {
  return Response.json(await compute());
}
