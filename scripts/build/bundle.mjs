// Bundles the API, the worker and the operator commands into one file each, so that a start does not look up and read
// some 2,000 files (docs/decisions, 2026-11-22-bundles), and the container image needs only a few packages. Then starts
// API and worker once to save their compiled code, which later starts load.
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from './prepare.mjs';
import { writeCodeCaches } from './code-cache.mjs';
import { LEFT_OUTSIDE } from './image-packages.mjs';

/** Nest and pg load them only if they are installed. */
const OPTIONAL = [
  /^@nestjs\/(microservices|websockets|platform-express)/,
  /^@fastify\/(multipart|view)$/,
  /^class-transformer\/storage$/,
  /^pg-native$/,
];

/** The app of each program. */
const PROGRAMS = { api: 'api', worker: 'worker', operator: 'standalone' };
/** They start often, or while a request waits; each start of the operator program loads a different command. */
const CACHED = ['api', 'worker'];
const FOLDER = join(ROOT, 'dist', 'bin');

const input = Object.fromEntries(
  Object.entries(PROGRAMS).map(([name, app]) => [name, join(ROOT, 'dist', 'apps', app, 'src', 'main.js')]),
);
const bundle = await rolldown({
  input,
  platform: 'node',
  // Tree shaking takes calls such as decodeURIComponent() for pure, and drops those made to see whether they throw.
  treeshake: false,
  external: (id) =>
    LEFT_OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)) || OPTIONAL.some((it) => it.test(id)),
  onLog: (level, log) => {
    // A warning would be overlooked, so it has to be fixed or ruled out here.
    if (level === 'warn') throw new Error(log.message);
  },
});
await bundle.write({
  dir: FOLDER,
  // V8 caches compiled scripts, but not modules; load-bundle.mjs calls each file as a function.
  format: 'cjs',
  banner: '(function (exports, require, module, __filename, __dirname) {',
  footer: '})',
  // A script has no import() of its own.
  dynamicImportInCjs: false,
  // In ASCII, V8 keeps one byte per character in memory, not two. Comments are copied unescaped, so they are dropped.
  charset: 'ascii',
  comments: false,
  keepNames: true,
  minify: false,
  // A code cache of an earlier build must never be used for this one.
  cleanDir: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: 'chunks/[name]-[hash].cjs',
});
await copyFile(join(ROOT, 'scripts', 'build', 'load-bundle.mjs'), join(FOLDER, 'load-bundle.mjs'));
for (const name of Object.keys(PROGRAMS)) {
  await writeFile(
    join(FOLDER, `${name}.js`),
    `import { loadBundle } from './load-bundle.mjs';\n\nloadBundle('${name}.cjs');\n`,
  );
}
await writeCodeCaches(FOLDER, CACHED);
