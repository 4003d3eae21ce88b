// Loads a bundle of bundle.mjs; copied into dist/bin, where every API and worker starts from it. A code cache next to
// each file saves V8 the compilation, which halves the CPU time of a start. Another version of V8 rejects the cache and
// compiles, which is only slower.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** Loaded modules, by path. */
const modules = new Map();
const require = createRequire(import.meta.url);
/** WebAssembly as 2.3 MB of text: it is decoded once, so that neither the text nor a code cache of it is worth keeping. */
const PASSING = /\.wasm-base64-/;

/** Runs a file of this folder with everything it requires. */
export function loadBundle(name) {
  load(join(import.meta.dirname, name));
}

/** The compiled code of all modules loaded and functions called so far, by the path of its cache. */
export function* codeCaches() {
  for (const [path, { script }] of modules) yield [cacheOf(path), script.createCachedData()];
}

/** The paths of modules that were loaded without a code cache, because it was missing or rejected. */
export function compiledAnew() {
  return [...modules].filter(([, { script }]) => script.cachedDataRejected !== false).map(([path]) => path);
}

function load(path) {
  const loaded = modules.get(path);
  if (loaded !== undefined) return loaded.exports;
  const script = new Script(readFileSync(path, 'latin1'), { filename: path, cachedData: read(cacheOf(path)) });
  const module = { exports: {}, script };
  if (!PASSING.test(path)) modules.set(path, module);
  const folder = dirname(path);
  const requireFrom = (id) => (id.startsWith('.') ? load(join(folder, id)) : require(id));
  script.runInThisContext()(module.exports, requireFrom, module, path, folder);
  return module.exports;
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function cacheOf(path) {
  return `${path}.cache`;
}
