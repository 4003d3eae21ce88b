// Makes one file each of the API and the worker, dist/bin/api.js and dist/bin/worker.js, with what they import: some
// 2,000 files are not looked for and read at every start (docs/decisions, 2026-11-22-bundles).
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from './prepare.mjs';

/** They bring machine code, or are looked for at run time. */
const LEFT_OUTSIDE = ['sharp', '@node-rs/argon2', 'dejavu-fonts-ttf', 'swagger-ui-dist'];
/** Nest and pg ask for them and do without. */
const OPTIONAL = [
  /^@nestjs\/(microservices|websockets|platform-express)/,
  /^@fastify\/(multipart|view)$/,
  /^class-transformer\/storage$/,
  /^pg-native$/,
];

const input = Object.fromEntries(
  ['api', 'worker'].map((role) => [role, join(ROOT, 'dist', 'apps', role, 'src', 'main.js')]),
);
const bundle = await rolldown({
  input,
  platform: 'node',
  // It takes calls such as decodeURIComponent() for pure, and drops those that are made to see whether they throw.
  treeshake: false,
  external: (id) =>
    LEFT_OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)) || OPTIONAL.some((it) => it.test(id)),
  onLog: (level, log) => {
    // A warning would be missed; whatever it warns of has to be settled here.
    if (level === 'warn') throw new Error(log.message);
  },
});
await bundle.write({
  dir: join(ROOT, 'dist', 'bin'),
  format: 'esm',
  keepNames: true,
  minify: false,
  cleanDir: true,
  chunkFileNames: 'chunks/[name]-[hash].js',
});
