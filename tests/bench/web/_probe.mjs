import { chromium } from 'playwright-core';
import { build } from 'esbuild';
import { writeFile, mkdtemp } from 'node:fs/promises';
import { serve } from './src/serve.mjs';
const dir = await mkdtemp('/tmp/wgsl-');
await build({ entryPoints: ['_probe_entry.mjs'], bundle: true, format: 'esm', platform: 'browser', target: 'es2022', outfile: dir + '/x.js', logLevel: 'error' });
await writeFile(dir + '/index.html', '<script type="module" src="x.js"></script>');
const server = await serve({ '/': dir, '/tandem/': process.env.TANDEM ?? '../../../web/dist' });
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox','--disable-quic','--enable-unsafe-webgpu','--use-webgpu-adapter=swiftshader'] });
const p = await b.newPage(); await p.goto(server.url + '/isolated/index.html');
p.on('console', m => console.log(m.text()));
const r = await p.evaluate((i) => window.probe(i), process.argv[2]);
for (const [k, v] of Object.entries(r)) { console.log(k, JSON.stringify(v.t), JSON.stringify(v.dispatches)); if (process.argv[3]) for (const s of v.shaders) console.log('-----\n' + s); }
await b.close(); await server.close(); process.exit(0);
