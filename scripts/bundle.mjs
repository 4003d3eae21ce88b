// Makes one file each of the API, the worker and the operator's commands, with what they import: some 2,000 files are not
// looked for and read at every start (docs/decisions, 2026-11-22-bundles), and the container image needs few packages.
// Then API and worker are started once for the compiled form that later starts load in place of compiling.
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from './prepare.mjs';
import { writeCodeCaches } from './code-cache.mjs';
import { LEFT_OUTSIDE } from './image-packages.mjs';

/** Nest and pg ask for them and do without. */
const OPTIONAL = [
  /^@nestjs\/(microservices|websockets|platform-express)/,
  /^@fastify\/(multipart|view)$/,
  /^class-transformer\/storage$/,
  /^pg-native$/,
];

/** The app of each program. */
const PROGRAMS = { api: 'api', worker: 'worker', operator: 'standalone' };
/** They start often, or while somebody waits for a free place; of the operator's many commands each start loads another. */
const CACHED = ['api', 'worker'];
const FOLDER = join(ROOT, 'dist', 'bin');

const input = Object.fromEntries(
  Object.entries(PROGRAMS).map(([name, app]) => [name, join(ROOT, 'dist', 'apps', app, 'src', 'main.js')]),
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
  dir: FOLDER,
  // V8 keeps the compiled form of scripts, not of modules; load-bundle.mjs calls each file as the function it then is.
  format: 'cjs',
  banner: '(function (exports, require, module, __filename, __dirname) {',
  footer: '})',
  // A script has no import() of its own.
  dynamicImportInCjs: false,
  // Without any other character a file takes a byte for each in memory, not two. Comments are copied as they are.
  charset: 'ascii',
  comments: false,
  keepNames: true,
  minify: false,
  // What an earlier build compiled must never be taken for what this one made.
  cleanDir: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: 'chunks/[name]-[hash].cjs',
});
await copyFile(join(ROOT, 'scripts', 'load-bundle.mjs'), join(FOLDER, 'load-bundle.mjs'));
for (const name of Object.keys(PROGRAMS)) {
  await writeFile(
    join(FOLDER, `${name}.js`),
    `import { loadBundle } from './load-bundle.mjs';\n\nloadBundle('${name}.cjs');\n`,
  );
}
await writeCodeCaches(FOLDER, CACHED);
