import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of package.json, which also contains `dist` and `prisma`, wherever in `dist` the running code is. Throws
 * when no parent folder has one.
 */
export const PACKAGE_ROOT = findPackageRoot(import.meta.dirname);

function findPackageRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error(`No package.json was found above ${from}.`);
  }
}

/** The product's version, the same as in package.json. */
export const VERSION = '1.0.0';
