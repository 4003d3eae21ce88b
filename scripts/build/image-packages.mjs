// The packages left out of the bundles, and a copy of only those for the container image: everything else is in
// dist/bin. usage: node scripts/build/image-packages.mjs FOLDER
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** They contain native code, or files that are read at run time. */
export const LEFT_OUTSIDE = ['sharp', '@node-rs/argon2', 'dejavu-fonts-ttf', 'swagger-ui-dist'];

/** Read only by debuggers, compilers and people. */
const UNREAD = /\.(map|d\.[cm]?ts|md)$|\/status\.txt$/;
const ROOT = join(import.meta.dirname, '..', '..');

/** The folders of these packages and all their dependencies, from package-lock.json. */
function foldersOf(names, packages) {
  const found = new Set();
  const visit = (name, from) => {
    const folder = folderOf(name, from, packages);
    // Optional packages are each for one platform; npm installs those that fit.
    if (folder === undefined || found.has(folder) || !existsSync(join(ROOT, folder))) return;
    found.add(folder);
    const { dependencies, optionalDependencies } = packages[folder];
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) visit(needed, folder);
  };
  for (const name of names) visit(name, '');
  for (const name of names)
    if (!found.has(folderOf(name, '', packages))) throw new Error(`${name} is not installed; run npm ci`);
  return [...found].sort();
}

/** Node's lookup: next to the importing package, then upwards. */
function folderOf(name, from, packages) {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')))) {
    const folder = join(above, 'node_modules', name);
    if (folder in packages) return folder;
    if (above === '') return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const [, , target] = process.argv;
  for (const folder of foldersOf(LEFT_OUTSIDE, packages)) {
    mkdirSync(dirname(join(target, folder)), { recursive: true });
    cpSync(join(ROOT, folder), join(target, folder), {
      recursive: true,
      filter: (path) => !UNREAD.test(path) && !path.slice(join(ROOT, folder).length).includes('/node_modules'),
    });
  }
}
